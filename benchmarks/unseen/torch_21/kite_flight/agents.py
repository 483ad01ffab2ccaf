"""Policy, and the normaliser of returns that all sites share."""
import torch
import torch.distributed as dist
from torch import nn


class Policy(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.action = nn.Linear(width, 3)
        self.value = nn.Linear(width, 1)

    def forward(self, state):
        hidden = self.body(state)
        return torch.distributions.Categorical(logits=self.action(hidden)), self.value(hidden).squeeze(-1)


class Returns:
    """Mean and deviation of returns over all sites, merged once in every round, in a group of its own.

    `room` returns fit between two merges. A merge is due when they are used up, and at the end of the round otherwise.
    """

    def __init__(self, group, room):
        self.group = group
        self.room = room
        self.fresh = []
        self.merged = False
        self.count, self.total, self.squares = 1.0, 0.0, 1.0

    def begin_round(self):
        self.merged = False

    def observe(self, value):
        if len(self.fresh) < self.room:
            self.fresh.append(value)
        if len(self.fresh) == self.room and not self.merged:
            self.merge()

    def merge(self):
        fresh = torch.tensor(self.fresh or [0.0], dtype=torch.float64)
        sums = torch.stack([torch.tensor(float(len(self.fresh)), dtype=torch.float64), fresh.sum(), fresh.square().sum()])
        dist.all_reduce(sums, group=self.group)
        self.count, self.total, self.squares = (
            0.95 * old + new for old, new in zip((self.count, self.total, self.squares), sums.tolist())
        )
        self.fresh.clear()
        self.merged = True

    def scale(self, values):
        mean = self.total / self.count
        deviation = max(self.squares / self.count - mean * mean, 1e-4) ** 0.5
        return (values - mean) / deviation


class Averaged:
    """An optimizer step on the mean of the gradients, in the group of the learners."""

    def __init__(self, policy, optimizer, group):
        self.policy, self.optimizer, self.group = policy, optimizer, group

    def step(self):
        flat = torch.cat([p.grad.reshape(-1) for p in self.policy.parameters()])
        dist.all_reduce(flat, group=self.group)
        flat /= dist.get_world_size(self.group)
        offset = 0
        for p in self.policy.parameters():
            p.grad.copy_(flat[offset : offset + p.numel()].view_as(p))
            offset += p.numel()
        self.optimizer.step()
