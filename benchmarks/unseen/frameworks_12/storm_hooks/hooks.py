"""What is reported of a stretch of training; every hook has a group of its own or the one of the model."""

import torch
import torch.distributed as dist


class Hook:
    name = ""

    def __init__(self, group=None):
        self.group = group
        self.pending = []

    def note(self, value):
        self.pending.append(float(value))

    def total(self):
        found = torch.tensor([sum(self.pending), float(len(self.pending))])
        self.pending = []
        return found


class Losses(Hook):
    name = "loss"

    def report(self):
        found = self.total()
        dist.all_reduce(found, group=self.group)
        return (found[0] / found[1]).item()


class Gusts(Hook):
    """Readings above the threshold, and how far."""

    name = "gusts"

    def __init__(self, threshold, group=None):
        super().__init__(group)
        self.threshold = threshold

    def scan(self, wind):
        for value in wind[wind > self.threshold].tolist():
            self.note(value - self.threshold)

    def report(self):
        excess = self.total()
        dist.all_reduce(excess, group=self.group)
        return int(excess[1].item())


class Hooks:
    def __init__(self, *hooks):
        self.hooks = list(hooks)

    def report(self):
        """Those with most to tell come first."""
        ordered = sorted(self.hooks, key=lambda hook: -len(hook.pending))
        return {hook.name: hook.report() for hook in ordered}
