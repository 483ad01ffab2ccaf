import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset


class SalesWindows(Dataset):
    """Sliding windows over synthetic daily sales of many stores."""

    def __init__(self, series: torch.Tensor, context: int, horizon: int, stride: int):
        self.series, self.context, self.horizon = series, context, horizon
        last = series.size(1) - context - horizon
        self.index = [(s, t) for s in range(series.size(0)) for t in range(0, last + 1, stride)]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        store, start = self.index[i]
        mid = start + self.context
        return self.series[store, start:mid], self.series[store, mid : mid + self.horizon]


def synthesise(stores: int, length: int, seed: int) -> torch.Tensor:
    gen = torch.Generator().manual_seed(seed)
    t = torch.arange(length, dtype=torch.float32)
    level = torch.rand(stores, 1, generator=gen) * 2
    phase = torch.rand(stores, 1, generator=gen) * 6.28
    weekly = torch.sin(t[None] * 6.28 / 7 + phase)
    trend = torch.randn(stores, 1, generator=gen) * t[None] / length
    return level + weekly + trend + 0.2 * torch.randn(stores, length, generator=gen)


class SalesData(L.LightningDataModule):
    def __init__(self, stores, length, context, horizon, batch_size, workers, seed):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        h = self.hparams
        series = synthesise(h.stores, h.length, h.seed)
        cut = int(0.75 * h.length)
        self.train_set = SalesWindows(series[:, :cut], h.context, h.horizon, stride=4)
        self.val_set = SalesWindows(series[:, cut:], h.context, h.horizon, stride=12)

    def _loader(self, dataset, shuffle):
        h = self.hparams
        return DataLoader(
            dataset,
            batch_size=h.batch_size,
            shuffle=shuffle,
            drop_last=shuffle,
            num_workers=h.workers,
            persistent_workers=h.workers > 0,
        )

    def train_dataloader(self):
        return self._loader(self.train_set, shuffle=True)

    def val_dataloader(self):
        return self._loader(self.val_set, shuffle=False)
