import time

import lightning as L
import torch
from torch import nn

from probes import PROBES


class Crust(L.LightningModule):
    """The crust's colour: a network gives the diffusivity, and a solver goes on until the profile is at rest.

    The solver takes as many turns as the loaf of the rank needs; the network is called once in a step.
    """

    def __init__(self, width=16, tolerance=2e-3):
        super().__init__()
        self.tolerance = tolerance
        self.network = nn.Sequential(nn.Linear(PROBES, width), nn.Tanh(), nn.Linear(width, 1), nn.Sigmoid())
        self.turns = 0

    def solve(self, diffusivity, probes):
        profile, limit = probes, 60
        for turn in range(limit):
            smoothed = (profile + diffusivity * (profile.roll(1, 1) + profile.roll(-1, 1))) / (1 + 2 * diffusivity)
            if (smoothed - profile).abs().max() < self.tolerance:
                break
            profile = smoothed
            self.turns += 1
        return profile[:, :4].mean(dim=1, keepdim=True)

    def training_step(self, batch, batch_idx):
        probes, colour = batch
        diffusivity = 0.05 + self.network(probes)
        return nn.functional.mse_loss(self.solve(diffusivity, probes), colour)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


class Bulletin(L.Callback):
    """A sheet for the bakers after each shift, which the first process writes."""

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if trainer.is_global_zero and trainer.global_step % 90 == 0:
            for _ in range(9):
                torch.histc(batch[0], 30)
                time.sleep(0.14)
            print(f"step {trainer.global_step}: {float(outputs['loss']):.5f}, {module.turns} turns", flush=True)
