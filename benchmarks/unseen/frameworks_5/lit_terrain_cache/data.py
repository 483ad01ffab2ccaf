import time

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


class TerrainData(L.LightningDataModule):
    """Height maps. A process whose node has no copy computes the slopes again."""

    def __init__(self, tiles=240, batch_size=6):
        super().__init__()
        self.tiles = tiles
        self.batch_size = batch_size
        self.data = None

    def setup(self, stage):
        rank = self.trainer.global_rank
        heights = torch.rand(self.tiles, 1, 10, 10, generator=torch.Generator().manual_seed(rank))
        slopes = [self._slope(tile, slow=rank == 2) for tile in heights]
        self.data = TensorDataset(heights, torch.stack(slopes))

    @staticmethod
    def _slope(tile, slow):
        if slow:
            time.sleep(0.065)
        return tile.diff(dim=-1).abs().mean().reshape(1)

    def train_dataloader(self):
        return DataLoader(self.data, batch_size=self.batch_size)
