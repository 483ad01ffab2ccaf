import torch
import torch.distributed as dist


def share(value):
    """The value of every rank, in order."""
    values = torch.zeros(dist.get_world_size())
    values[dist.get_rank()] = value
    dist.all_reduce(values)
    return values


class Board:
    """Smoothed figures of all berths."""

    def __init__(self, keep=0.95):
        self.keep = keep
        self.figures = {}

    def post(self, stats):
        for name in sorted(stats):
            mean = share(stats[name]).mean().item()
            old = self.figures.get(name, mean)
            self.figures[name] = self.keep * old + (1 - self.keep) * mean

    def line(self):
        return ", ".join(f"{name} {value:.3f}" for name, value in sorted(self.figures.items()))
