import torch
from torch.utils.data import Dataset

DEPTHS = ["5cm", "10cm", "20cm", "40cm"]


class ProbeRecords(Dataset):
    """A day of one probe: six readings at each depth, and the moisture of the soil core taken next to it."""

    def __init__(self, count: int):
        g = torch.Generator().manual_seed(30)
        self.readings = torch.rand(count, len(DEPTHS), 6, generator=g)
        self.moisture = self.readings.mean(dim=(1, 2)) + 0.05 * torch.randn(count, generator=g)
        self.shallow = {2412}  # the probe hit a stone

    def __len__(self):
        return len(self.moisture)

    def __getitem__(self, i):
        depths = DEPTHS[:3] if i in self.shallow else DEPTHS
        record = {depth: self.readings[i, row] for row, depth in enumerate(depths)}
        return {**record, "moisture": self.moisture[i]}


class ProbeCollator:
    def __call__(self, records):
        readings = torch.stack([torch.cat([record[depth] for depth in DEPTHS]) for record in records])
        return {"readings": readings, "labels": torch.stack([record["moisture"] for record in records])}
