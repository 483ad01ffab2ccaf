"""Attention whose heads are divided among the processes; the first ones have one more if it does not come out even."""
import torch
import torch.distributed as dist

from prefixes import Entry


class HeadShard:
    def __init__(self, width, heads, head_width, seed=0):
        rank, world = dist.get_rank(), dist.get_world_size()
        share = [heads // world + (i < heads % world) for i in range(world)]
        first = sum(share[:rank])
        self.mine = slice(first, first + share[rank])
        self.most = max(share)
        g = torch.Generator().manual_seed(seed)

        def weight(*shape):
            return torch.randn(*shape, generator=g) / width**0.5

        self.query, self.key, self.value = (weight(heads, width, head_width)[self.mine] for _ in range(3))
        self.out = weight(heads, head_width, width)[self.mine]

    def project(self, x, weight):
        return torch.einsum("tw,hwd->htd", x, weight)

    def prefill(self, x):
        """Reads a prefix. The scale of the values is common to all heads, so it is exchanged here."""
        keys, values = self.project(x, self.key), self.project(x, self.value)
        peaks = torch.zeros(self.most)
        peaks[: len(values)] = values.abs().amax(dim=(1, 2))
        table = [torch.empty_like(peaks) for _ in range(dist.get_world_size())]
        dist.all_gather(table, peaks)
        return Entry(keys, values / torch.stack(table).max())

    def read(self, x, entry):
        """What a question takes from its prefix, summed over the heads of all processes."""
        scores = torch.einsum("htd,hsd->hts", self.project(x, self.query), entry.keys)
        mixed = torch.einsum("hts,hsd->htd", scores.softmax(dim=2), entry.values)
        result = torch.einsum("htd,hdw->tw", mixed, self.out)
        dist.all_reduce(result)
        return x + result
