"""Pharmacies that learn together: a client keeps its sales to itself and gives away only weights."""
import torch
from torch import nn

PRODUCTS = 10
SEASONS = {"town": 0.0, "resort": 1.0, "suburb": 0.05}


class Client:
    """A forecaster of tomorrow's sales and the sales that it is trained on."""

    def __init__(self, kind, seed, width, lr):
        self.kind = kind
        g = torch.Generator().manual_seed(seed)
        shared = torch.randn(PRODUCTS, PRODUCTS, generator=torch.Generator().manual_seed(1)) / PRODUCTS**0.5
        tourists = torch.randn(PRODUCTS, PRODUCTS, generator=torch.Generator().manual_seed(2)) / PRODUCTS**0.5
        self.response = (1 - SEASONS[kind]) * shared + SEASONS[kind] * tourists
        self.generator = g
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(PRODUCTS, width), nn.Tanh(), nn.Linear(width, PRODUCTS))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)

    def day(self, batch):
        x = torch.randn(batch, PRODUCTS, generator=self.generator)
        return x, x @ self.response + 0.1 * torch.randn(batch, PRODUCTS, generator=self.generator)

    def train(self, days, batch):
        total = 0.0
        for _ in range(days):
            x, y = self.day(batch)
            loss = nn.functional.mse_loss(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / days

    def weights(self):
        return nn.utils.parameters_to_vector(self.model.parameters()).detach()

    def take(self, weights):
        nn.utils.vector_to_parameters(weights, self.model.parameters())
