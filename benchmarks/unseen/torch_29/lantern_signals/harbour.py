"""The harbour simulator, reduced to what the agent can see of it."""
import time
from dataclasses import dataclass

import torch


@dataclass
class Rollout:
    seen: torch.Tensor
    moves: torch.Tensor
    returns: torch.Tensor
    lit: torch.Tensor          # moments at which a lantern was lit
    colours: torch.Tensor


class Harbour:
    def __init__(self, seed, boats, horizon=24):
        self.random = torch.Generator().manual_seed(seed)
        self.boats, self.horizon = boats, horizon

    def fog(self, update):
        """Fog rolls in over the day; without fog nobody needs a lantern."""
        return 0.9 if (update + 17 * self.boats) % 300 < 210 else 0.0

    @torch.no_grad()
    def play(self, agent, update):
        time.sleep(0.03)                    # physics
        seen = torch.randn(self.horizon, 10, generator=self.random)
        _, moves, _ = agent(seen)
        taken = moves.sample()
        reward = (taken == seen.argmax(dim=1) % 5).float()
        returns = reward.flip(0).cumsum(0).flip(0) / self.horizon
        dark = torch.rand(self.horizon, generator=self.random) < self.fog(update)
        lit = dark.nonzero().squeeze(1)
        colours = torch.randint(0, 3, (len(lit),), generator=self.random)
        return Rollout(seen, taken, returns, lit, colours)
