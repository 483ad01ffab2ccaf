"""Averages over the lifts of the resort; every number travels by itself."""

import torch
import torch.distributed as dist


def resort_mean(value):
    """Mean of one number over all lifts."""
    cell = torch.tensor([value], dtype=torch.float64)
    dist.all_reduce(cell)
    return cell.item() / dist.get_world_size()


class Board:
    """The board in the office: a smoothed mean for each figure."""

    def __init__(self, smoothing=0.9):
        self.smoothing = smoothing
        self.shown = {}
        self.updates = 0

    def update(self, figures):
        for name in sorted(figures):
            mean = resort_mean(figures[name])
            before = self.shown.get(name, mean)
            self.shown[name] = self.smoothing * before + (1 - self.smoothing) * mean
        self.updates += 1

    def difference(self, name, value):
        """How far one lift is from the board."""
        return value - self.shown.get(name, value)

    def line(self):
        return ", ".join(f"{name} {value:.2f}" for name, value in sorted(self.shown.items()))


def same_everywhere(value):
    """The value that the first lift has."""
    cell = torch.tensor([value], dtype=torch.float64)
    dist.broadcast(cell, src=0)
    return cell.item()
