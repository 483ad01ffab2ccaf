"""Running figures of a training run."""
import collections
import logging

import torch
import torch.distributed as dist

log = logging.getLogger("bridge")


class Mean:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def add(self, value, weight=1):
        self.total += float(value) * weight
        self.count += weight

    def over_processes(self):
        """The mean over everything that any process has added since the last call."""
        pair = torch.tensor([self.total, float(self.count)])
        dist.all_reduce(pair)
        self.total, self.count = 0.0, 0
        return (pair[0] / pair[1].clamp(min=1.0)).item()


class Meters:
    """Named means, reported together."""

    def __init__(self, every):
        self.every = every
        self.means = collections.defaultdict(Mean)
        self.history = []

    def add(self, **values):
        for name, value in values.items():
            self.means[name].add(value)

    def report(self, step):
        if (step + 1) % self.every:
            return
        figures = {name: self.means[name].over_processes() for name in sorted(self.means)}
        self.history.append((step, figures))
        log.info("step %d %s", step, " ".join(f"{name}={value:.4f}" for name, value in figures.items()))
