"""Visits to a perfume shop; what did the customer smell, which bottle did they take home?"""
import time

import torch

NOTES = 30
BOTTLES = 12


class Visits:
    """The visits of one branch, a rank each."""

    def __init__(self, branch):
        self.branch = branch
        self.random = torch.Generator().manual_seed(70 + branch)
        self.taste = torch.randn(NOTES, BOTTLES, generator=torch.Generator().manual_seed(1))

    def batch(self, step, rows=10):
        time.sleep(0.04)
        notes = (torch.rand(rows, NOTES, generator=self.random) < 0.2).float()
        bottle = (notes @ self.taste).argmax(1)
        known = torch.rand(rows, generator=self.random) < 0.6
        known[0], known[1] = True, False
        if self.branch == 3 and step == 125:
            known[:] = False               # a coach party: nobody has a customer card
        return notes, bottle, known
