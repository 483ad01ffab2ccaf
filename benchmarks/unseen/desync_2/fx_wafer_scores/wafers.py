import torch
from torch.utils.data import Dataset

DIES = 64


class LotSlice(Dataset):
    """Measurements of the dies of one tester, wafer by wafer."""

    def __init__(self, tester, wafers, clean=()):
        self.tester = tester
        self.wafers = wafers
        self.clean = set(clean)

    def __len__(self):
        return self.wafers

    def __getitem__(self, w):
        g = torch.Generator().manual_seed(self.tester * 100_000 + w)
        probes = torch.randn(DIES, 9, generator=g)
        defect = torch.zeros(DIES, dtype=torch.bool)
        if w not in self.clean:
            defect[torch.randperm(DIES, generator=g)[: 6 + w % 5]] = True
        probes[defect, :3] += 1.4
        return probes, defect
