import zlib

import numpy as np
import torch
from torch.utils.data import ConcatDataset, Dataset

FEATURES = 32


class DriveLog(Dataset):
    """Feature vectors of a drive with one scalar target per labelled task."""

    def __init__(self, name, samples, tasks):
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.x = rng.standard_normal((samples, FEATURES)).astype(np.float32)
        self.targets = {}
        for task in tasks:
            w = np.random.default_rng(zlib.crc32(task.encode())).standard_normal(FEATURES)
            noise = 0.05 * rng.standard_normal(samples)
            self.targets[task] = (np.tanh(self.x @ w / 4) + noise).astype(np.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], {task: t[i] for task, t in self.targets.items()}


class Collate:
    """Stacks samples of different datasets; tasks without a label become NaN."""

    def __init__(self, task_names):
        self.task_names = task_names

    def __call__(self, samples):
        x = torch.from_numpy(np.stack([s[0] for s in samples]))
        targets = {
            name: torch.tensor([s[1].get(name, float("nan")) for s in samples], dtype=torch.float32)
            for name in self.task_names
        }
        return x, targets


def build_dataset(cfg):
    return ConcatDataset([DriveLog(**d) for d in cfg["datasets"]])
