"""Cover of grass on pastures, from pictures of drones; Lightning Fabric."""

import time

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, Dataset

from budget import PixelBudget

FLIGHTS, PICTURES, BATCH = 7, 800, 8


class Flights(Dataset):
    """Every epoch is a flight; the height of the drone gives the size of the pictures."""

    def __init__(self, drone):
        self.drone, self.flight = drone, 0

    def side(self):
        return 40 if (self.drone, self.flight) == (1, 2) else 32

    def __len__(self):
        return PICTURES

    def __getitem__(self, index):
        time.sleep(0.004)
        generator = torch.Generator().manual_seed(PICTURES * self.drone + index)
        cover = torch.rand(1, generator=generator)
        picture = (torch.rand(1, self.side(), self.side(), generator=generator) < cover).float()
        return picture, cover


class CoverNet(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, channels, 5, stride=3), nn.ReLU(), nn.AdaptiveAvgPool2d(3))
        self.head = nn.Linear(9 * channels, 1)

    def forward(self, picture):
        return self.head(self.features(picture).flatten(1)).sigmoid()


class Trainer:
    def __init__(self, fabric):
        self.fabric = fabric
        self.data = Flights(fabric.global_rank)
        loader = DataLoader(self.data, batch_size=BATCH)
        self.loader = fabric.setup_dataloaders(loader, use_distributed_sampler=False)
        model = CoverNet()
        self.model, self.optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=2e-3))
        self.budget = PixelBudget(pixels=900 * 32 * 32)

    def flight(self, number):
        self.data.flight = number
        self.budget.renew()
        total, batches = 0.0, 0
        for pictures, cover in self.loader:
            loss = nn.functional.mse_loss(self.model(pictures), cover)
            self.fabric.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
            total, batches = total + loss.item(), batches + 1
            self.budget.spend(pictures)
            if self.budget.exhausted:
                break
        return total / batches


def main():
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=4, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(6, verbose=False)
    trainer = Trainer(fabric)
    for number in range(FLIGHTS):
        loss = trainer.flight(number)
        if fabric.global_rank == 0:
            print(f"flight {number}: {loss:.4f}", flush=True)
    fabric.barrier()
    if fabric.global_rank == 0:
        torch.save(trainer.model.module.state_dict(), "/dev/null")


if __name__ == "__main__":
    main()
