"""Passengers on the lines of a harbour, as they depend on fare, weekday and weather."""

import random
import time

import torch


class Harbour:
    def __init__(self, number, noise=0.1):
        self.number, self.noise = number, noise
        self.generator = torch.Generator().manual_seed(900 + number)
        self.work = random.Random(number)
        self.taste = torch.tensor([-1.0, 0.4, 0.3, 0.0, 0.2]) + 0.05 * number

    def fuel_price(self, week):
        """Change of the price of fuel against the week before, in per cent."""
        price = 1.5 * ((week * 13) % 7 - 3)
        if self.number == 3 and week == 130:
            price += 22
        return price

    def week(self, number, tickets=64):
        time.sleep(0.055 + 0.02 * self.work.random())
        features = torch.randn(tickets, len(self.taste), generator=self.generator)
        noise = self.noise * torch.randn(tickets, generator=self.generator)
        return features, features @ self.taste + noise, self.fuel_price(number)


def least_squares_step(weights, features, passengers, lr=0.1):
    error = features @ weights - passengers
    return weights - lr * features.T @ error / len(error), error.square().mean().item()
