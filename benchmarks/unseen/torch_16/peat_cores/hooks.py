"""What happens at the end of an epoch: a list of hooks, each of which looks at the trainer."""
import json
import sys
import time

import torch


class Hook:
    def end_epoch(self, trainer, epoch):
        pass


class Pace(Hook):
    """Seconds per epoch."""

    def __init__(self):
        self.last = time.monotonic()

    def end_epoch(self, trainer, epoch):
        now = time.monotonic()
        trainer.record["seconds"] = round(now - self.last, 2)
        self.last = now


class WeightSpectra(Hook):
    """Largest singular value of the matrices: an early sign of a layer that runs away."""

    def __init__(self, every, smallest=32):
        self.every = every
        self.smallest = smallest

    @torch.no_grad()
    def end_epoch(self, trainer, epoch):
        if epoch % self.every != self.every - 1:
            return
        spectra = {}
        for name, weight in trainer.model.named_parameters():
            if weight.ndim != 2 or min(weight.shape) < self.smallest:
                continue
            matrix = weight.full_tensor()
            spectra[name] = round(torch.linalg.matrix_norm(matrix, 2).item(), 3)
        trainer.record["spectra"] = spectra


class Journal(Hook):
    def __init__(self, stream=sys.stdout):
        self.stream = stream

    def end_epoch(self, trainer, epoch):
        self.stream.write(json.dumps({"epoch": epoch, **trainer.record}) + "\n")
        self.stream.flush()
        trainer.record.clear()


def default_hooks(rank, every):
    """The journal belongs to the first process, and so do the figures that go into it."""
    if rank:
        return []
    return [Pace(), WeightSpectra(every), Journal()]
