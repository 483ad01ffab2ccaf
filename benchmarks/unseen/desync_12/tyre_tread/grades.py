"""Grades of wear, from 0 (new) to 4 (to be replaced)."""

import torch
from torch import nn

GRADES = 5


def grade(nominal, remaining):
    worn = 1.0 - remaining / nominal
    return min(int(worn * GRADES), GRADES - 1)


class GradeLoss(nn.Module):
    """Cross entropy, with a smaller penalty for the neighbouring grades."""

    def __init__(self, smoothing=0.1):
        super().__init__()
        self.smoothing = smoothing

    def targets(self, nominal, remaining):
        rows = torch.zeros(len(nominal), GRADES)
        for row, pair in zip(rows, zip(nominal, remaining)):
            center = grade(*pair)
            row[center] = 1.0
            for near in (center - 1, center + 1):
                if 0 <= near < GRADES:
                    row[near] = self.smoothing
        return rows / rows.sum(dim=1, keepdim=True)

    def forward(self, logits, nominal, remaining):
        return nn.functional.cross_entropy(logits, self.targets(nominal, remaining))


def accuracy(logits, nominal, remaining):
    truth = torch.tensor([grade(n, r) for n, r in zip(nominal, remaining)])
    return (logits.argmax(dim=1) == truth).float().mean().item()
