"""Salt in a basin: tide, river and wind of an hour, and the salinity six hours later."""
import torch
from torch import nn
from torch.nn import functional as F

INPUTS = 12


class Basin:
    def __init__(self, number):
        self.number = number
        self.generator = torch.Generator().manual_seed(60 + number)
        self.river = 0.2 + 0.3 * number

    def day(self, day, hours=48):
        weather = torch.randn(hours, INPUTS, generator=self.generator)
        phase = torch.arange(hours) / 12.4 * 6.283 + 0.21 * day
        weather[:, 0] = phase.sin()
        weather[:, 1] = (phase / 29.5).cos()
        salt = weather[:, 0] * (1.0 - self.river) + 0.3 * weather[:, 1] * weather[:, 2] - self.river * weather[:, 3]
        return weather, salt + 0.05 * torch.randn(hours, generator=self.generator)


def build(width=40):
    torch.manual_seed(9)
    return nn.Sequential(nn.Linear(INPUTS, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))


def fit_day(model, optimizer, weather, salt, steps):
    for _ in range(steps):
        loss = F.mse_loss(model(weather).squeeze(-1), salt)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


@torch.no_grad()
def bias(model, weather, salt):
    """Whether the water is predicted too salty (above zero) or too fresh."""
    return (model(weather).squeeze(-1) - salt).mean().item()
