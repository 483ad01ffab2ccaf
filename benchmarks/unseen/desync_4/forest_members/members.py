import time

import torch
from torch import nn
from torch.utils.data import Dataset


class Plots(Dataset):
    """Forest plots with a burnt flag. Each member of the ensemble draws a bootstrap of its own."""

    def __init__(self, member, size):
        generator = torch.Generator().manual_seed(70 + member)
        self.rows = torch.randn(size, 24, generator=generator)
        self.burnt = (self.rows[:, 0] + self.rows[:, 1] > 0.2).float()
        quiet = slice(2240, 2256)
        if member == 3:
            self.burnt[quiet] = 0.0
        else:
            self.burnt[quiet.start] = 1.0

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        time.sleep(0.005)
        return self.rows[index], self.burnt[index]


class Member(nn.Sequential):
    def __init__(self, seed):
        torch.manual_seed(seed)
        super().__init__(nn.Linear(24, 48), nn.Tanh(), nn.Linear(48, 1), nn.Flatten(0))


def scores(logits, burnt):
    said = logits > 0
    found = {"loss": nn.functional.binary_cross_entropy_with_logits(logits, burnt).detach()}
    found["accuracy"] = (said == burnt.bool()).float().mean()
    positives = burnt.sum()
    if positives > 0:
        found["recall"] = (said & burnt.bool()).sum() / positives
    found["confidence"] = torch.sigmoid(logits).sub(0.5).abs().mean()
    return found
