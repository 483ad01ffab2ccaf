import random
import time

import torch

STATE = 6


class Crane:
    """A simulated container crane. With too much wind no container is lifted."""

    def __init__(self, berth):
        self.berth = berth
        self.pace = random.Random(berth)
        self.generator = torch.Generator().manual_seed(300 + berth)

    def wind(self, turn):
        gusts = 1.2 if (self.berth, turn) == (2, 110) else 0.0
        return 0.3 + gusts + 0.1 * torch.rand((), generator=self.generator).item()

    def turn(self, number, policy, moves=8):
        """Lets the policy move containers for one turn; the swing and the reward of each lift."""
        time.sleep(self.pace.uniform(0.05, 0.075))
        swings, rewards = [], [-0.1 * policy.square().mean().item()]
        wind = self.wind(number)
        for _ in range(moves):
            state = torch.randn(STATE, generator=self.generator)
            if wind > 1.0:
                continue
            swing = (policy @ state - state.sum() * 0.5).abs().item() + wind
            swings.append(swing)
            rewards.append(1.0 - swing)
        return swings, sum(rewards) / len(rewards)
