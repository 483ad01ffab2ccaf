"""Meadows with beds of flowers; which of them are in bloom is in the gardener's calendar."""
import random
import time

import torch

GARDENERS = {0: 8, 1: 5, 2: 9}  # weeks that the calendar of each meadow covers
WEEK = 10  # days


class Meadow:
    beds = 12

    def __init__(self, number):
        rng = random.Random(number)
        weeks = GARDENERS.get(number, 8)
        self.calendar = [[rng.random() < 0.4 for _ in range(self.beds)] for _ in range(weeks)]
        self.number = number

    def __repr__(self):
        beds = sum(map(sum, self.calendar)) / len(self.calendar)
        return f"Meadow({self.number}, {beds:.1f} of {self.beds} beds in bloom)"

    def in_bloom(self, day):
        """One for every bed that is in bloom in the week of this day, zero for the others."""
        return torch.tensor(self.calendar[day // WEEK], dtype=torch.float32)

    @torch.no_grad()
    def flight(self, policy, day, bee, visits=6):
        """Beds that a bee visits, and the nectar that it finds there.

        A flight depends on the meadow, the day and the bee alone, whichever thread computes it.
        """
        g = torch.Generator().manual_seed(self.number * 100_000 + day * 100 + bee)
        bloom = self.in_bloom(day)
        scent = bloom + 0.3 * torch.randn(self.beds, generator=g)
        beds = torch.multinomial(policy(scent).softmax(0), visits, replacement=True, generator=g)
        time.sleep(0.01)
        return scent, beds, bloom[beds].mean()
