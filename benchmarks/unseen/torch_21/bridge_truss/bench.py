"""Loads trusses until they give way. A bench stands a number of load cycles before it has to be overhauled."""
import dataclasses
import time

import torch

# Cycles that are left to the benches since their overhaul.
CYCLES_LEFT = {1: 90_000, 2: 21_000, 3: 120_000}


@dataclasses.dataclass
class Result:
    strength: float
    cycles: int


class Bench:
    def __init__(self, number, members):
        self.number = number
        self.left = CYCLES_LEFT.get(number, 60_000)
        self.tested = 0
        g = torch.Generator().manual_seed(8)
        self.geometry = torch.randn(members, members, generator=g) / members**0.5
        self.wanted = torch.randn(members, generator=g)

    @property
    def worn(self):
        return self.left <= 0

    def load(self, sections, cycles_per_kilo=60):
        """Strength of a truss with these sections; a strong one takes more cycles."""
        stress = torch.tanh(self.geometry @ sections) - self.wanted
        strength = -stress.square().mean().item()
        cycles = int(cycles_per_kilo * (2 + torch.tanh(torch.tensor(strength)).item()))
        self.left -= cycles
        self.tested += 1
        time.sleep(0.01)
        return Result(strength, cycles)


class Journal:
    """What a bench has done, for the overhaul."""

    def __init__(self, bench):
        self.bench = bench
        self.cycles = 0
        self.best = float("-inf")

    def enter(self, result):
        self.cycles += result.cycles
        self.best = max(self.best, result.strength)

    def __str__(self):
        return f"bench {self.bench.number}: {self.bench.tested} trusses, {self.cycles} cycles, best {self.best:.4f}"
