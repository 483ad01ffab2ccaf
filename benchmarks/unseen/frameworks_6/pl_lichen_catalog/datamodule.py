import time

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


class LichenData(L.LightningDataModule):
    """Assembles the catalogue from herbarium drawers before training."""

    def __init__(self, path, drawers=65, seconds_per_drawer=0.4):
        super().__init__()
        self.path, self.drawers, self.pace = path, drawers, seconds_per_drawer

    def _drawer(self, k):
        until = time.monotonic() + self.pace
        while time.monotonic() < until:
            time.sleep(0.05)
        g = torch.Generator().manual_seed(k)
        return torch.randn(10, 14, generator=g), torch.randint(0, 4, (10,), generator=g)

    def prepare_data(self):
        xs, ys = zip(*(self._drawer(k) for k in range(self.drawers)))
        torch.save({"x": torch.cat(xs), "y": torch.cat(ys)}, self.path)

    def setup(self, stage):
        d = torch.load(self.path)
        self.set = TensorDataset(d["x"], d["y"])

    def train_dataloader(self):
        return DataLoader(self.set, batch_size=8, shuffle=True)
