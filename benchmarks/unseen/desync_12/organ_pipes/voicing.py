import torch
from torch import nn

from pipes import HARMONICS, STOPS


class StopClassifier(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(HARMONICS, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.head = nn.Linear(width, STOPS)

    def forward(self, spectrum):
        return self.head(self.body(spectrum))


class Voicer:
    """One step of training: the recorded batch, and for wolves the batch as it would sound at half the wind."""

    def __init__(self, accelerator, model, optimizer):
        self.accelerator, self.model, self.optimizer = accelerator, model, optimizer
        self.criterion = nn.CrossEntropyLoss()
        self.half_wind = 0

    def soften(self, spectrum):
        falloff = torch.linspace(1.0, 0.4, HARMONICS)
        return spectrum * falloff

    def step(self, batch):
        loss = self.criterion(self.model(batch["spectrum"]), batch["stop"])
        self.accelerator.backward(loss)
        if batch["wolf"].any():
            softened = self.criterion(self.model(self.soften(batch["spectrum"])), batch["stop"])
            self.accelerator.backward(0.5 * softened)
            self.half_wind += 1
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()
