"""Waiting times of barges at the locks of a canal, from easy to hard ones."""
import torch
from torch.utils.data import Dataset

FEATURES = 14
REACHES = ("upper", "summit", "lower")


class Voyages(Dataset):
    """One reach of the canal; later stages of the curriculum add the voyages of the market days."""

    def __init__(self, reach, stage, batch):
        self.reach, self.stage = reach, stage
        self.plain = 20 * batch
        self.market = self.market_days() * batch
        generator = torch.Generator().manual_seed(9 + reach)
        self.weights = torch.randn(FEATURES, generator=generator)

    def market_days(self):
        if self.stage < 2:
            return 0
        return 4 if REACHES[self.reach % len(REACHES)] == "summit" else 2

    @property
    def name(self):
        return f"{REACHES[self.reach % len(REACHES)]} reach, stage {self.stage}"

    def __len__(self):
        return self.plain + self.market

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(1000 * self.stage + 10 * index + self.reach)
        barge = torch.randn(FEATURES, generator=generator)
        crowd = 1.5 if index >= self.plain else 1.0
        waiting = crowd * (barge @ self.weights).tanh() + 0.1 * self.reach
        return barge, waiting


def stages(count):
    """Names of the stages, for the log."""
    return [("calm", "usual", "market", "holiday")[min(stage, 3)] for stage in range(count)]
