import torch
from torch.utils.data import Dataset

SIDE = 12
KINDS = 4


class Crops(Dataset):
    """Crops of reef photographs, some of them too murky to be used."""

    def __init__(self, count, seed):
        self.count, self.seed = count, seed

    def __len__(self):
        return self.count

    def murky(self, i):
        transect = i // 480
        return 2992 <= i < 3004 or (i * 2654435761 >> 7) % 10 < 2 + transect % 4

    def __getitem__(self, i):
        gen = torch.Generator().manual_seed(self.seed + i)
        kind = (i * 3 + i // 5) % KINDS
        crop = torch.randn(3, SIDE, SIDE, generator=gen) * 0.4
        crop[kind % 3, :: kind + 2] += 0.9
        return {"crop": crop, "kind": kind, "use": not self.murky(i)}


def portions(batch, limit):
    """Yields the usable crops of a batch in portions of at most `limit`, with a flag at the last one."""
    keep = batch["use"].nonzero().squeeze(1)
    chunks = keep.split(limit) if len(keep) else [keep]
    for n, chunk in enumerate(chunks, start=1):
        yield batch["crop"][chunk], batch["kind"][chunk], n == len(chunks)
