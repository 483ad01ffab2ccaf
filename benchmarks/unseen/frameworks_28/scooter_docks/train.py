"""How many scooters does a dock need tomorrow morning? Lightning Fabric, three CPU ranks.

    torchrun --nproc-per-node 3 train.py
"""
import os

import torch
from lightning.fabric import Fabric
from torch import nn

from docks import DockDays
from weather import WeatherService

EPOCHS = 4


class Demand(nn.Module):
    def __init__(self, features=7, width=32):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(features, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x).squeeze(-1)


def main():
    fabric = Fabric(accelerator="cpu", devices=int(os.environ["WORLD_SIZE"]), strategy="ddp")
    fabric.launch()
    fabric.seed_everything(1, verbose=False)

    # one weather service for the job; the first rank starts it and tells the others where
    service = WeatherService() if fabric.global_rank == 0 else None
    address = fabric.broadcast(service.address if service else None)

    days = DockDays(fabric.global_rank, fabric.world_size, address)
    model = Demand()
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=1e-3))
    for epoch in range(EPOCHS):
        total = torch.zeros(())
        for features, rides in days.batches(epoch):
            # rides are counts, so Poisson
            loss = nn.functional.poisson_nll_loss(model(features), rides)
            optimizer.zero_grad()
            fabric.backward(loss)
            optimizer.step()
            total += loss.detach()
        mean = fabric.all_reduce(total / len(days), reduce_op="mean")
        fabric.print(f"epoch {epoch}: {mean.item():.3f}")

    fabric.barrier()
    if service:
        service.stop()


if __name__ == "__main__":
    main()
