import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, random_split
from torch.utils.data.distributed import DistributedSampler

from common import seed_worker


class SpectraDataset(Dataset):
    """Spectra and concentrations from an .npz file (or simulated ones)."""

    def __init__(self, path, n=1500, bins=128):
        if path:
            blob = np.load(path)
            self.x, self.y = blob["spectra"].astype("float32"), blob["targets"].astype("float32")
        else:
            rng = np.random.default_rng(0)
            self.y = rng.random((n, 3), dtype="float32")
            basis = rng.random((3, bins), dtype="float32")
            noise = rng.standard_normal((n, bins), dtype="float32")
            self.x = self.y @ basis + 0.5 * noise

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), torch.from_numpy(self.y[i])


class Jitter(Dataset):
    """Random gain and baseline drift on top of a data set."""

    def __init__(self, base, gain=0.02, drift=0.02):
        self.base, self.gain, self.drift = base, gain, drift

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        x, y = self.base[i]
        x = x * (1 + self.gain * torch.randn(1)) + self.drift * torch.randn(1)
        return x, y


def build_loaders(cfg, rank, world):
    full = SpectraDataset(cfg.npz)
    n_val = int(len(full) * cfg.val_fraction) // world * world
    train_set, val_set = random_split(full, [len(full) - n_val, n_val])
    train_set = Jitter(train_set)

    sampler = DistributedSampler(train_set, num_replicas=world, rank=rank, shuffle=True, seed=cfg.seed)
    train = DataLoader(
        train_set, cfg.batch_size, sampler=sampler, num_workers=cfg.workers,
        worker_init_fn=seed_worker, drop_last=True,
    )
    val = DataLoader(
        val_set, cfg.batch_size,
        sampler=DistributedSampler(val_set, num_replicas=world, rank=rank, shuffle=False),
        num_workers=cfg.workers,
    )
    return train, val, sampler
