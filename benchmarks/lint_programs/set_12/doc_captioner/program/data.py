import torch
from torch.utils.data import Dataset


class Pages(Dataset):
    """Documents; about a third of them carry a scanned figure beside their text."""

    def __init__(self, n, vocab, seq_len, image_size, seed):
        self.n, self.vocab, self.seq_len, self.image_size, self.seed = n, vocab, seq_len, image_size, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 7919 + i)
        start = int(torch.randint(0, self.vocab, (1,), generator=g))
        tokens = (start + torch.arange(self.seq_len + 1) * 3) % self.vocab
        has_figure = torch.rand(1, generator=g).item() < 0.35
        figure = torch.rand(3, self.image_size, self.image_size, generator=g) if has_figure else None
        return {"tokens": tokens, "figure": figure}


class Collate:
    def __init__(self, image_size):
        self.image_size = image_size

    def __call__(self, rows):
        tokens = torch.stack([r["tokens"] for r in rows])
        owners = [i for i, r in enumerate(rows) if r["figure"] is not None]
        figures = [rows[i]["figure"] for i in owners]
        empty = torch.empty(0, 3, self.image_size, self.image_size)
        return {
            "inputs": tokens[:, :-1].contiguous(),
            "targets": tokens[:, 1:].contiguous(),
            "figures": torch.stack(figures) if figures else empty,
            "owners": torch.tensor(owners, dtype=torch.long),
        }
