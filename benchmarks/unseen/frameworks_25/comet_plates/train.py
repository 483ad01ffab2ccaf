"""Denoise brightness profiles of comet tails; three apparitions are measured after training on them in turn."""

import argparse
import time
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from measure import ProfileTable
from plates import Plates


@dataclass
class Apparition:
    name: str
    seed: int
    clouded: tuple = ()


APPARITIONS = [
    Apparition("1858 VI", 5),
    Apparition("1881 III", 6),
    Apparition("1910 I", 7, clouded=(17, 21, 42, 65)),
    Apparition("1910 II", 8),
]


class Denoiser(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(1, channels, 7, padding=3),
            nn.GELU(),
            nn.Conv1d(channels, channels, 7, padding=3),
            nn.GELU(),
            nn.Conv1d(channels, 1, 1),
        )

    def forward(self, seen):
        return self.layers(seen.unsqueeze(1)).squeeze(1)


def train_epoch(accelerator, model, optimizer, loader):
    model.train()
    for seen, profile, _, _ in loader:
        loss = nn.functional.mse_loss(model(seen), profile)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.03)  # plates come from a slow disk
    return loss.detach()


@torch.no_grad()
def measure(accelerator, model, loader):
    model.eval()
    table = ProfileTable(accelerator)
    for seen, profile, reach, clear in loader:
        table.update(model(seen), profile, reach, clear)
    return table.compute()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plates", type=int, default=480)
    parser.add_argument("--measured", type=int, default=96)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=3, help="per apparition")
    parser.add_argument("--channels", type=int, default=16)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(25)
    accelerator = Accelerator(cpu=True)
    model = Denoiser(args.channels)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    model, optimizer = accelerator.prepare(model, optimizer)
    for apparition in APPARITIONS:
        data = Plates(args.plates, args.length, apparition.seed)
        held_out = Plates(args.measured, args.length, apparition.seed + 100, apparition.clouded)
        train, test = accelerator.prepare(
            DataLoader(data, args.batch, shuffle=True), DataLoader(held_out, args.batch)
        )
        for _ in range(args.epochs):
            train_epoch(accelerator, model, optimizer, train)
        result = measure(accelerator, model, test)
        accelerator.print(f"{apparition.name}: {result}", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
