"""Measurements of a set of plates, collected from all processes."""

import torch


class ProfileTable:
    """One row per measured plate: the reconstructed profile as far as the tail reaches.

    Tails have different lengths, so rows are as wide as the longest tail of the process; before the tables of the
    processes are put together, they are padded to a common width.
    """

    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.rows = []

    def update(self, predicted, target, reach, clear):
        for row, truth, length in zip(predicted[clear], target[clear], reach[clear]):
            self.rows.append((row[:length], truth[:length]))

    def stacked(self, which):
        width = max(len(row[which]) for row in self.rows)
        table = torch.zeros(len(self.rows), width)
        for i, row in enumerate(self.rows):
            table[i, : len(row[which])] = row[which]
        return table

    def everywhere(self, which):
        table = self.accelerator.pad_across_processes(self.stacked(which), dim=1)
        return self.accelerator.gather(table)

    def compute(self):
        predicted, truth = self.everywhere(0), self.everywhere(1)
        inside = truth > 0
        return {
            "plates": len(truth),
            "rmse": (predicted - truth)[inside].pow(2).mean().sqrt().item(),
            "longest": int(inside.sum(1).max()),
        }
