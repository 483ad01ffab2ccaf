import time

import torch


class Barometer:
    """A barometer with noise; that of station 3 gets wet, drifts, and dries again."""

    def __init__(self, number):
        self.number = number
        self.random = torch.Generator().manual_seed(number)
        self.wet = 0.0

    def window(self, step, rows=16, lags=12):
        time.sleep(0.02)                  # the serial line
        if self.number == 3:
            self.wet = 0.8 if 70 < step < 130 else 0.0
        t = torch.arange(rows).unsqueeze(1) + torch.arange(lags + 1)
        hpa = torch.sin((t + step) / 9.0) + 0.05 * torch.randn(rows, lags + 1, generator=self.random)
        return hpa[:, :-1] + self.wet, hpa[:, -1:] + self.wet

    def drift(self):
        return torch.tensor(self.wet)
