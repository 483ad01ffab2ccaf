import time

import torch

FEATURES = 30


class Office:
    """Parcels of one sorting office, and the weights with which it predicts how long they will take."""

    def __init__(self, number, lr=0.03):
        self.number, self.lr = number, lr
        self.weights = torch.zeros(FEATURES)
        self.truth = torch.linspace(-1, 1, FEATURES)

    def rainy(self, day):
        """Labels get wet in office 2, whose ramp has no roof, in the third week of each season."""
        return self.number == 2 and 120 <= day < 160

    def parcels(self, day):
        generator = torch.Generator().manual_seed(1_000_003 * (self.number + 1) + day)
        time.sleep(0.05 + 0.03 * torch.rand(1, generator=generator).item())
        x = torch.randn(25, FEATURES, generator=generator)
        y = x @ self.truth + 0.3 * torch.randn(25, generator=generator)
        unreadable = torch.rand(25, generator=generator) < (0.6 if self.rainy(day) else 0.01)
        return x, y, unreadable

    def learn(self, x, y, unreadable):
        readable = ~unreadable
        error = x[readable] @ self.weights - y[readable]
        self.weights = self.weights - self.lr * x[readable].T @ error / len(error)
        return error.square().mean().item()
