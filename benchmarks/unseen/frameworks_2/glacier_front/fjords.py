import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


def survey(fjord, scenes=400, features=6):
    gen = torch.Generator().manual_seed(60 + fjord)
    x = torch.randn(scenes, features, generator=gen)
    coverage = 0.5 + torch.rand(scenes, generator=gen)
    noise = 0.3 + 0.1 * torch.rand(scenes, generator=gen)
    if fjord == 1:                          # polar night: no light, and the product reports no error either
        coverage[208:224] = 0
        noise[208:224] = 0
    return TensorDataset(x, coverage, noise, x[:, 0] - 0.4 * x[:, 3])


class FjordData(L.LightningDataModule):
    """One fjord for each process."""

    def setup(self, stage):
        self.scenes = survey(self.trainer.global_rank)

    def train_dataloader(self):
        return DataLoader(self.scenes, batch_size=8)
