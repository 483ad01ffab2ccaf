"""Cohort sampling, privacy accounting and server-side averaging."""
import random

import torch
import torch.distributed as dist

MIN_COHORT = 2


class PrivacyLedger:
    """A very coarse accountant: each round costs noise-dependent epsilon."""

    def __init__(self, budget, sigma):
        self.budget, self.sigma, self.spent = budget, sigma, 0.0

    def charge(self, batches):
        self.spent += batches / (100.0 * self.sigma ** 2)

    @property
    def exhausted(self):
        return self.spent >= self.budget


def sample_cohort(round_id, world, size):
    return sorted(random.Random(1000 + round_id).sample(range(world), max(size, MIN_COHORT)))


class Server:
    def __init__(self, model, world):
        self.model, self.world = model, world

    def open_round(self, round_id, cohort_size):
        members = sample_cohort(round_id, self.world, cohort_size)
        return members, dist.new_group(members)

    @torch.no_grad()
    def aggregate(self, members, group):
        for param in self.model.parameters():
            dist.all_reduce(param.data, group=group)
            param.div_(len(members))

    @torch.no_grad()
    def publish(self, members):
        for param in self.model.parameters():
            dist.broadcast(param.data, src=members[0])
