"""Lava domes: how fast one grows, from tilt and gas, with a model of the conduit that is solved anew each time."""

import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SENSORS = 10


class Observations(Dataset):
    """Observations of a dome. The conduit is solved by bisection; sticky magma takes more turns."""

    def __init__(self, count, seed):
        self.count = count
        self.seed = seed
        self.weights = torch.randn(SENSORS, generator=torch.Generator().manual_seed(1))

    def __len__(self):
        return self.count

    def conduit(self, tilt, sticky):
        low, high = -20.0, 20.0
        for _ in range(40 if sticky else 12):
            middle = (low + high) / 2
            if middle**3 + middle < float(tilt):
                low = middle
            else:
                high = middle
            time.sleep(0.0004)
        return middle

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100_000 + i)
        signal = torch.randn(SENSORS, generator=g)
        tilt = signal @ self.weights
        growth = self.conduit(tilt, sticky=i % 3 == 2)
        return signal, torch.tensor(growth) + 0.1 * torch.randn((), generator=g)


class Domes(L.LightningDataModule):
    def __init__(self, count, batch):
        super().__init__()
        self.count = count
        self.batch = batch

    def prepare_data(self):
        """The catalogue of eruptions is unpacked once, by the first process; the others wait for it."""
        time.sleep(4.0)

    def setup(self, stage):
        self.train = Observations(self.count, seed=1)
        self.held_out = Observations(self.count // 5, seed=2)

    def train_dataloader(self):
        return DataLoader(self.train, self.batch, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.held_out, self.batch)


class GrowthModel(L.LightningModule):
    def __init__(self, hidden=32, lr=3e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(SENSORS, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def error(self, batch):
        signal, growth = batch
        return nn.functional.mse_loss(self.net(signal).squeeze(-1), growth)

    def training_step(self, batch, batch_idx):
        return self.error(batch)

    def validation_step(self, batch, batch_idx):
        self.log("val_mse", self.error(batch), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
