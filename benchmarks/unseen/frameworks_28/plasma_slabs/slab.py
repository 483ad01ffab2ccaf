"""A toy of a slab: diffusion with a source, and short bursts that are resolved with smaller steps."""
import time

import torch

CELLS = 24


class Slab:
    def __init__(self, number, batch=8):
        self.number = number
        self.generator = torch.Generator().manual_seed(number)
        self.profile = torch.rand(batch, CELLS, generator=self.generator)
        self.heating = 0.2
        self.time = 0
        self._energies = []

    def advance(self):
        """One step of the outer time; returns the profiles before and after it."""
        before = self.profile.clone()
        self._energies = []
        for _ in range(self._substeps()):
            self._substep()
            self._energies.append(float(self.profile.square().mean()))
        self.time += 1
        time.sleep(0.03)                   # the real solver is not that fast
        return before, self.profile.clone()

    def energies(self):
        return self._energies

    def _substeps(self):
        # slab 3 is next to the beam, which is switched on for a while
        burst = self.number == 3 and 90 <= self.time < 96
        return 5 if burst else 1

    def _substep(self, rate=0.1):
        left, right = self.profile.roll(1, 1), self.profile.roll(-1, 1)
        self.profile = self.profile + rate * (left + right - 2 * self.profile)
        noise = torch.rand(self.profile.shape, generator=self.generator)
        self.profile = (self.profile + self.heating * (noise - 0.5)).clamp(0, 2)
