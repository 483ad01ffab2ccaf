import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def sequences(n, length, vocab, seed):
    g = torch.Generator().manual_seed(seed)
    start = torch.randint(0, vocab, (n, 1), generator=g)
    stride = torch.randint(1, 4, (n, 1), generator=g)
    return TensorDataset((start + stride * torch.arange(length + 1)) % vocab)


class Feed:
    """The first rank of each tp group reads the data and hands the batch to the others."""

    def __init__(self, args, layout):
        self.layout = layout
        self.shape = (args.batch_size, args.length + 1)
        data = sequences(args.samples, args.length, args.vocab, seed=1)
        self.sampler = DistributedSampler(data, num_replicas=layout.dp_size, rank=layout.dp_rank,
                                          seed=args.seed, drop_last=True)
        self.loader = DataLoader(data, batch_size=args.batch_size, sampler=self.sampler, drop_last=True)

    def epoch(self, number):
        self.sampler.set_epoch(number)
        source = iter(self.loader) if self.layout.tp_rank == 0 else None
        for _ in range(len(self.loader)):
            batch = next(source)[0] if source is not None else torch.empty(self.shape, dtype=torch.long)
            dist.broadcast(batch, src=0, group=self.layout.tp_group)
            yield batch[:, :-1], batch[:, 1:]
