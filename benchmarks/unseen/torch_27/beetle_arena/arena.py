"""A toy arena: a beetle pushes a ball towards a hole, a little further each level."""
import time

import torch

OBS, ACTIONS = 6, 4


class Arena:
    def __init__(self, rank):
        self.rank = rank
        self.random = torch.Generator().manual_seed(rank)
        # each colony has its own ground; the third has some mud on its way
        self.mud = {3: 0.6, 4: 0.6} if rank == 2 else {}

    def rollout(self, policy, level, length=24):
        time.sleep(0.05)
        ground = self.mud.get(level, 0.0)
        seen = torch.randn(length, OBS, generator=self.random)
        with torch.no_grad():
            actions = torch.distributions.Categorical(logits=policy(seen)).sample()
        rewards = (seen[:, 0] > 0).float() * (1.0 - ground) + 0.05 * (actions == 0)
        return seen, actions, rewards
