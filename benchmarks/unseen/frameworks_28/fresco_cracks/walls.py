"""Tiles of photographed walls (synthetic), each with a thin dark line as its crack."""
import time

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset


class Tiles(Dataset):
    def __init__(self, count, seed, side=24):
        self.count, self.seed, self.side = count, seed, side

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.seed * 10_000 + index)
        tile = torch.rand(3, self.side, self.side, generator=generator)
        mask = torch.zeros(self.side, self.side)
        row = int(torch.randint(2, self.side - 2, (1,), generator=generator))
        mask[row, 3:-3] = 1
        tile[:, row, 3:-3] *= 0.3
        time.sleep(0.02)                   # reading the tile from the tiff pyramid
        return tile, mask


class WallModule(L.LightningDataModule):
    def train_dataloader(self):
        return DataLoader(Tiles(480, seed=1), batch_size=4, shuffle=True)

    def val_dataloader(self):
        return DataLoader(Tiles(24, seed=2), batch_size=4)
