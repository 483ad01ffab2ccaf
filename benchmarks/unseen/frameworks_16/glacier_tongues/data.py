import lightning as L
import torch
from lightning.pytorch.callbacks import Callback
from torch.utils.data import DataLoader, Dataset

from terrain import TILES, Terrain

FEATURES = 10


class Tongues(Dataset):
    """Satellite features of a spot on the ice, the terrain below, and the speed of the ice."""

    def __init__(self, terrain, spots):
        self.terrain = terrain
        g = torch.Generator().manual_seed(terrain.region)
        self.optical = torch.randn(spots, FEATURES, generator=g)
        self.tile = torch.randint(TILES, (spots,), generator=g).tolist()

    def __len__(self):
        return len(self.tile)

    def __getitem__(self, i):
        height = self.terrain.height(self.tile[i])
        speed = self.optical[i, :3].sum() + height[0] - 0.5 * height[1]
        return torch.cat([self.optical[i], height]), speed


class TongueData(L.LightningDataModule):
    """Each process has a region of its own."""

    def __init__(self, spots, batch, workers):
        super().__init__()
        self.spots, self.batch, self.workers = spots, batch, workers

    def setup(self, stage):
        self.terrain = Terrain(self.trainer.global_rank)
        self.tongues = Tongues(self.terrain, self.spots)

    def train_dataloader(self):
        return DataLoader(self.tongues, self.batch, shuffle=True, num_workers=self.workers)


class SurveyFlights(Callback):
    """Renews the terrain of a region between epochs, if there was a flight over it."""

    def __init__(self, flights):
        self.flights = flights

    def on_train_epoch_end(self, trainer, pl_module):
        flown = self.flights.get((trainer.global_rank, trainer.current_epoch))
        if flown is not None:
            trainer.datamodule.terrain.renew_in_background(flown)
