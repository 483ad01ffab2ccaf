"""Printed parts and their warping, as nodes of torchdata."""

import random
import time

import torch
from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper, Prefetcher

LAYERS = 20


class Printer:
    """The log of one printer: a line for each part, in the order of printing."""

    def __init__(self, number, parts):
        self.number, self.parts = number, parts

    def cancelled(self, part):
        """A spool ran out in one of the logs and the parts up to the next morning were cancelled."""
        return self.number == 3 and 300 <= part < 348

    def __iter__(self):
        for part in range(self.parts):
            if not self.cancelled(part):
                yield {"printer": self.number, "part": part}


class Measure:
    """Temperatures of the layers of a part and its warping."""

    def __init__(self, number):
        self.random = random.Random(number)

    def __call__(self, lines):
        time.sleep(0.05 + 0.02 * self.random.random())
        layers, warping = [], []
        for line in lines:
            generator = torch.Generator().manual_seed(10_000 * line["printer"] + line["part"])
            layers.append(torch.randn(LAYERS, generator=generator))
            warping.append(layers[-1][-5:].mean() - layers[-1][:5].mean())
        return torch.stack(layers), torch.stack(warping)


def part_loader(number, parts, batch_size):
    """A loader over the log of one printer, which starts again for every epoch."""
    node = Batcher(IterableWrapper(Printer(number, parts)), batch_size, drop_last=True)
    return Loader(Prefetcher(Mapper(node, Measure(number)), prefetch_factor=2))
