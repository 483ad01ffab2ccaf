"""Colours of glazes after firing, and the models that predict them."""
import torch
from torch import nn

OXIDES, CHANNELS = 16, 3


class Glazes:
    def __init__(self, count=512, seed=66):
        generator = torch.Generator().manual_seed(seed)
        self.oxides = torch.rand(count, OXIDES, generator=generator)
        mixing = torch.randn(OXIDES, CHANNELS, generator=generator)
        self.colour = torch.tanh((self.oxides - 0.5) @ mixing) + 0.02 * torch.randn(count, CHANNELS, generator=generator)
        self.held_out = count // 4

    def training(self):
        return self.oxides[self.held_out :], self.colour[self.held_out :]

    def validation(self):
        return self.oxides[: self.held_out], self.colour[: self.held_out]

    def batches(self, size, generator):
        oxides, colour = self.training()
        for index in torch.randperm(len(oxides), generator=generator).split(size):
            yield oxides[index], colour[index]


class GlazeModel(nn.Module):
    def __init__(self, dropout, width=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(OXIDES, width), nn.SiLU(), nn.Dropout(dropout))
        self.colour = nn.Linear(width, CHANNELS)

    def forward(self, oxides):
        return self.colour(self.encoder(oxides))


@torch.no_grad()
def error(model, glazes):
    model.eval()
    oxides, colour = glazes.validation()
    loss = nn.functional.mse_loss(model(oxides), colour).item()
    model.train()
    return loss
