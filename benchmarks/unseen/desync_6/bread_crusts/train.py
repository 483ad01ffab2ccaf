"""Baking times from the crust (Fabric)."""

from dataclasses import dataclass

import torch
from lightning.fabric import Fabric
from lightning.fabric.strategies import DDPStrategy
from torch import nn

from crusts import POINTS, Tasting, ovens


@dataclass
class Recipe:
    batch: int = 8
    batches: int = 380
    lr: float = 0.01
    taste_every: int = 90


class Crust(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(POINTS, width),
            nn.Dropout(0.1),
            nn.Tanh(),
            nn.Linear(width, 1),
        )

    def forward(self, brightness):
        return self.layers(brightness)


def bake(fabric, recipe):
    fabric.seed_everything(70, verbose=False)
    crust = Crust()
    model, optimizer = fabric.setup(crust, torch.optim.Adam(crust.parameters(), lr=recipe.lr))
    loader = fabric.setup_dataloaders(
        ovens(fabric.global_rank, recipe.batch, recipe.batches), use_distributed_sampler=False
    )
    tasting = Tasting() if fabric.is_global_zero else None
    for number, (brightness, minutes) in enumerate(loader, start=1):
        loss = nn.functional.l1_loss(model(brightness), minutes)
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
        if tasting is not None and number % recipe.taste_every == 0:
            error = tasting.taste(crust)
            fabric.print(f"{number} batches: {50 * error:.1f} minutes off", flush=True)
    return tasting


def main():
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=4, strategy=DDPStrategy())
    fabric.launch()
    tasting = bake(fabric, Recipe())
    fabric.barrier()
    if tasting is not None:
        print(f"best: {50 * min(tasting.history):.1f} minutes", flush=True)


if __name__ == "__main__":
    main()
