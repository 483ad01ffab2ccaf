"""The archive of blasts: one raw recording per site, which all processes convert together before training."""

import logging

import torch

log = logging.getLogger("archive")

GAUGES = 12
SITES = ["north face", "old pit", "shelf", "ramp", "east cut"]


def record(site, shots, seed=0):
    """Raw recording of a site: peak velocities at the gauges, the charge, and a counter that wraps on old loggers."""
    g = torch.Generator().manual_seed(1000 * seed + site)
    charge = 10 + 40 * torch.rand(shots, generator=g)
    distance = 20 + 200 * torch.rand(shots, GAUGES, generator=g)
    velocity = 300 * charge[:, None].sqrt() / distance
    counter = torch.arange(shots)
    if SITES[site] == "shelf":
        counter[shots // 2 :] -= shots // 8  # the clock of that logger was set back at noon
    return counter, velocity, charge


class Archive:
    """Converts the sites one after another.

    Every process converts its own third of a site's shots. The processes keep together site by site, because the next
    site is scaled with what has been written about the one before it.
    """

    def __init__(self, accelerator, shots):
        self.accelerator = accelerator
        self.shots = shots
        self.scale = {}
        self.parts = []

    def settle(self, what):
        log.debug("process %d: %s", self.accelerator.process_index, what)
        self.accelerator.wait_for_everyone()

    def own(self, shots):
        size = shots // self.accelerator.num_processes
        first = self.accelerator.process_index * size
        return slice(first, first + size)

    def straighten(self, counter, site):
        """Makes a counter ascend again, and lets nobody go on before that is done."""
        fixed = torch.arange(len(counter)) + counter[0]
        log.info("%s: %d shots counted anew", SITES[site], int((fixed != counter).sum()))
        self.settle("counted anew")
        return fixed

    def convert(self, site):
        counter, velocity, charge = (part[self.own(self.shots)] for part in record(site, self.shots))
        if (counter.diff() < 0).any():
            counter = self.straighten(counter, site)
        self.scale[site] = velocity.std()
        previous = self.scale.get(site - 1, torch.tensor(1.0))
        self.parts.append((velocity / (previous + self.scale[site]), charge.log()))
        return len(counter)

    def prepare(self):
        for site in range(len(SITES)):
            shots = self.convert(site)
            self.settle(f"{SITES[site]}: {shots} shots")
        inputs, targets = zip(*self.parts, strict=True)
        return torch.cat(inputs), torch.cat(targets)
