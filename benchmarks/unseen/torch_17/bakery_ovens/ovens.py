"""Ovens of a bakery as an environment: heat them so that the crumb gets to its temperature and not above it."""
import json

import torch


class Ovens:
    def __init__(self, number, count=8):
        self.number = number
        self.count = count
        # the bakery with number 1 has the new ovens, which log all their sensors
        self.sensors = 48 if number == 1 else 2
        self.g = torch.Generator().manual_seed(30 + number)

    def reset(self):
        self.crumb = torch.full((self.count,), 0.25) + 0.05 * torch.rand(self.count, generator=self.g)
        self.target = 0.8 + 0.15 * torch.rand(self.count, generator=self.g)
        return self.state()

    def state(self):
        return torch.stack([self.crumb, self.target, self.target - self.crumb], dim=1)

    def step(self, heat):
        warmth = heat.float() / 4
        self.crumb = self.crumb + 0.12 * warmth - 0.03 + 0.005 * torch.randn(self.count, generator=self.g)
        return self.state(), -(self.crumb - self.target).abs()

    def readings(self):
        noise = 0.01 * torch.randn(self.count, self.sensors, generator=self.g)
        return (self.crumb[:, None] + noise).tolist()


class Diary:
    """Everything that the sensors said, one file for each episode."""

    def __init__(self, folder):
        self.folder = folder

    def write(self, episode, readings):
        (self.folder / f"episode_{episode:05d}.json").write_text(json.dumps(readings))
