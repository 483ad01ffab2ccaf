"""Simulated turbofan runs: operating point in, eight sensors out. Two data-parallel halves of the fleet."""
import torch

SENSORS, INPUTS = 8, 6


class Fleet:
    def __init__(self, half, steps, batch=16):
        self.g = torch.Generator().manual_seed(half)
        self.half, self.steps, self.batch = half, steps, batch
        self.mixing = torch.randn(INPUTS, SENSORS, generator=torch.Generator().manual_seed(99)) * 0.4

    def __iter__(self):
        for step in range(self.steps):
            x = torch.randn(self.batch, INPUTS, generator=self.g)
            y = torch.tanh(x @ self.mixing)
            if self.half == 1 and step == 85:
                y[3, 6] += 9000.0          # T50 thermocouple shorts on engine 118
            yield x, y
