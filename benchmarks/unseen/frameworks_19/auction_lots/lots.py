"""Lots of an auction, with the one scanner that all processes share."""

import fcntl
import time
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import Dataset

MARKS = 18


@contextmanager
def scanner(folder: Path):
    """Whoever holds the lock has the scanner; the kernel lets go of it when the file is closed."""
    with (folder / "scanner.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Lots(Dataset):
    """Marks of a lot and the logarithm of its price. The first lot that is read warms up the scanner's lamp."""

    def __init__(self, folder, count, seed, warm_up=0.0):
        self.folder = folder
        self.count = count
        self.seed = seed
        self.warm_up = warm_up
        self.warm = False
        self.rule = torch.randn(MARKS, generator=torch.Generator().manual_seed(0)) / MARKS**0.5

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if not self.warm:
            with scanner(self.folder):
                time.sleep(self.warm_up)
            self.warm = True
        g = torch.Generator().manual_seed(self.seed * 100_000 + i)
        marks = torch.randn(MARKS, generator=g)
        return {"marks": marks, "labels": marks @ self.rule + 0.1 * torch.randn((), generator=g)}


def prepare_catalogue(folder: Path):
    """Done by whoever comes first; the others find it."""
    catalogue = folder / "catalogue.txt"
    if catalogue.exists():
        return catalogue.read_text().splitlines()
    lines = []
    for lot in range(40):
        lines.append(f"lot {lot:03d}")
        time.sleep(0.1)
    catalogue.write_text("\n".join(lines))
    return lines


class PriceModel(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(MARKS, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, marks, labels=None):
        price = self.net(marks).squeeze(-1)
        return {"loss": nn.functional.mse_loss(price, labels), "logits": price}
