import torch
import torch.distributed as dist


class DriftWatch:
    """Exponential mean of the loss; tells when the recent loss is far above it."""

    def __init__(self, decay=0.9, factor=6.0, floor=0.5, patience=2):
        self.decay = decay
        self.factor = factor
        self.floor = floor
        self.patience = patience
        self.mean = None
        self.above = 0

    def update(self, value):
        if self.mean is None:
            self.mean = value
        if value > self.factor * max(self.mean, self.floor):
            self.above += 1
        else:
            self.above = 0
            self.mean = self.decay * self.mean + (1 - self.decay) * value
        return self.above >= self.patience


class Anchor:
    """Holds the last good weights and brings the replicas back to them."""

    def __init__(self, module):
        self.module = module
        self.good = None

    @torch.no_grad()
    def remember(self):
        self.good = [p.detach().clone() for p in self.module.parameters()]

    @torch.no_grad()
    def rewind(self):
        for parameter, saved in zip(self.module.parameters(), self.good):
            parameter.copy_(saved)
            dist.broadcast(parameter, src=0)


class Stabiliser:
    def __init__(self, module, every=5):
        self.watch = DriftWatch()
        self.anchor = Anchor(module)
        self.every = every
        self.rewinds = 0

    def observe(self, step, loss):
        if self.watch.update(loss):
            self.anchor.rewind()
            self.watch.above = 0
            self.rewinds += 1
        elif step % self.every == 0:
            self.anchor.remember()
