"""Scores of one drawer, added up over the processes."""

import torch


class InclusionScore:
    """Mean error of the estimated age, over the pieces that have an inclusion."""

    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.reset()

    def reset(self):
        self.error = 0
        self.pieces = 0

    def add(self, estimate, age, inclusion):
        if not inclusion.any():
            return
        self.error += (estimate - age)[inclusion].abs().sum().item()
        self.pieces += int(inclusion.sum())

    def compute(self):
        totals = torch.tensor([self.error, self.pieces], device=self.accelerator.device)
        totals = self.accelerator.reduce(totals, reduction="sum")
        error, pieces = totals.tolist()
        self.reset()
        return error / max(pieces, 1)
