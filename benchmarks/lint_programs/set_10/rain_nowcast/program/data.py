import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset


class RadarFrames(Dataset):
    """Rain cells that drift over a small grid: four frames in, one frame out."""

    def __init__(self, n, seed, size=24, frames=5):
        g = torch.Generator().manual_seed(seed)
        self.start = torch.rand(n, 2, generator=g) * 12 + 6
        self.drift = torch.randn(n, 2, generator=g)
        self.radius = torch.rand(n, generator=g) * 3 + 2
        self.size = size
        self.frames = frames

    def __len__(self):
        return len(self.start)

    def __getitem__(self, i):
        axis = torch.arange(self.size, dtype=torch.float32)
        yy, xx = torch.meshgrid(axis, axis, indexing="ij")
        rain = []
        for t in range(self.frames):
            cy, cx = (self.start[i] + t * self.drift[i]).tolist()
            dist = (yy - cy) ** 2 + (xx - cx) ** 2
            rain.append(torch.exp(-dist / (2 * self.radius[i] ** 2)))
        rain = torch.stack(rain)
        return rain[:-1], rain[-1:]


class RadarData(L.LightningDataModule):
    def __init__(self, batch_size=16, train_size=2048, val_size=256, num_workers=2):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        self.train_set = RadarFrames(self.hparams.train_size, seed=1)
        self.val_set = RadarFrames(self.hparams.val_size, seed=2)

    def train_dataloader(self):
        return DataLoader(
            self.train_set,
            self.hparams.batch_size,
            shuffle=True,
            drop_last=True,
            num_workers=self.hparams.num_workers,
        )

    def val_dataloader(self):
        return DataLoader(
            self.val_set, self.hparams.batch_size, num_workers=self.hparams.num_workers
        )
