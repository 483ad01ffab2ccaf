"""A greenhouse with a pump: moisture of the beds under a policy that opens valves."""
import torch

BEDS = 5
HOUSES = ("palms", "cacti", "orchids")


class Greenhouse:
    def __init__(self, number):
        self.random = torch.Generator().manual_seed(60 + number)
        shared = torch.Generator().manual_seed(2)
        self.flow = torch.eye(BEDS) + 0.2 * torch.randn(BEDS, BEDS, generator=shared)
        self.thirst = 0.1 + 0.2 * torch.rand(BEDS, generator=self.random)
        self.start = torch.rand(BEDS, generator=self.random)

    def day(self, weights, hours=12):
        """Reward of a linear policy: how near the beds stay to the right moisture, and how little is pumped."""
        gain, bias = weights[:BEDS * BEDS].view(BEDS, BEDS), weights[BEDS * BEDS:]
        moisture, reward = self.start.clone(), 0.0
        for _ in range(hours):
            valves = torch.sigmoid(gain @ moisture + bias)
            moisture = (moisture + 0.3 * self.flow @ valves - self.thirst).clamp(0.0, 2.0)
            reward -= (moisture - 1.0).square().mean().item() + 0.02 * valves.sum().item()
        return reward / hours
