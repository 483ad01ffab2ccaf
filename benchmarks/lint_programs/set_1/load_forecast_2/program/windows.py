import numpy as np
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, Dataset


class LoadWindows(Dataset):
    def __init__(self, series, calendar, history, horizon, stride):
        # series: (households, hours), calendar: (hours, features)
        self.series, self.calendar = series, calendar
        self.history, self.horizon = history, horizon
        starts = range(0, series.shape[1] - history - horizon + 1, stride)
        self.index = [(h, s) for h in range(series.shape[0]) for s in starts]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        house, s = self.index[i]
        mid, end = s + self.history, s + self.history + self.horizon
        past = self.series[house, s:mid]
        scale = np.abs(past).mean() + 1e-3
        return {
            "past": torch.from_numpy(past / scale).float(),
            "past_cal": torch.from_numpy(self.calendar[s:mid]).float(),
            "future_cal": torch.from_numpy(self.calendar[mid:end]).float(),
            "target": torch.from_numpy(self.series[house, mid:end] / scale).float(),
        }


class LoadData(pl.LightningDataModule):
    def __init__(self, path, history, horizon, batch_size, workers):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        hp = self.hparams
        blob = np.load(hp.path)
        series, cal, split = blob["series"], blob["calendar"], int(blob["split"])
        self.train_set = LoadWindows(series[:, :split], cal[:split], hp.history, hp.horizon, stride=6)
        self.val_set = LoadWindows(series[:, split:], cal[split:], hp.history, hp.horizon, stride=24)

    def _loader(self, dataset, shuffle):
        hp = self.hparams
        return DataLoader(dataset, hp.batch_size, shuffle=shuffle, num_workers=hp.workers, pin_memory=True)

    def train_dataloader(self):
        return self._loader(self.train_set, True)

    def val_dataloader(self):
        return self._loader(self.val_set, False)
