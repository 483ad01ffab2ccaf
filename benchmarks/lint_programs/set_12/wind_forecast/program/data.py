import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


def synth_farms(n, history, seed):
    """Hourly wind series of several farms; every sample is one window and the next hour."""
    g = torch.Generator().manual_seed(seed)
    farm = torch.randint(0, 12, (n,), generator=g)
    phase = torch.rand(n, generator=g) * 6.28
    t = torch.arange(history + 1, dtype=torch.float32)
    base = torch.sin(t[None] / 4.0 + phase[:, None]) * (1 + farm[:, None] / 6.0)
    noise = torch.randn(n, history + 1, generator=g) * (0.05 + 0.05 * farm[:, None])
    series = base + noise
    return TensorDataset(series[:, :-1].contiguous(), farm, series[:, -1].contiguous())


class WindData(L.LightningDataModule):
    def __init__(self, history: int, batch_size: int, n_train: int, n_val: int, workers: int = 2):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        hp = self.hparams
        self.train_set = synth_farms(hp.n_train, hp.history, seed=11)
        self.val_set = synth_farms(hp.n_val, hp.history, seed=12)

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.hparams.batch_size, shuffle=True,
                          num_workers=self.hparams.workers, drop_last=True,
                          persistent_workers=self.hparams.workers > 0)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=self.hparams.batch_size,
                          num_workers=self.hparams.workers,
                          persistent_workers=self.hparams.workers > 0)
