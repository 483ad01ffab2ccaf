"""Milk of alpine herds from the grass of their pastures, one herd per process, with Accelerate."""

import argparse
import logging
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pastures import DAYS, SUMMERS, GrassTables

log = logging.getLogger("herds")


def herd_summer(grass, herd, cows, seed):
    """Features (grass of the day before, age, day) and litres of every cow on forty days of each pasture."""
    g = torch.Generator().manual_seed(seed)
    features, litres = [], []
    for stage, pasture in enumerate(SUMMERS[herd]):
        table = grass.table(pasture)
        first = stage * DAYS // 3
        for day in range(first, first + DAYS // 3):
            age = torch.rand(cows, generator=g)
            eaten = table[max(day - 1, 0)].expand(cows)
            features.append(torch.stack([eaten, age, torch.full((cows,), day / DAYS)], dim=1))
            litres.append(12 + 9 * eaten - 4 * (age - 0.4).abs() + torch.randn(cows, generator=g))
    return TensorDataset(torch.cat(features), torch.cat(litres))


class MilkModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.head = nn.Linear(width, 1)

    def forward(self, features):
        return 15 + self.head(self.body(features)).squeeze(-1)


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cows", type=int, default=30)
    parser.add_argument("--batch", type=int, default=60)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--lr", type=float, default=3e-3)
    return parser.parse_args()


def main():
    args = parse()
    logging.basicConfig(level=logging.WARNING)
    torch.set_num_threads(1)
    set_seed(7)
    accelerator = Accelerator(cpu=True)
    herd = list(SUMMERS)[accelerator.process_index % len(SUMMERS)]
    grass = GrassTables(accelerator)
    data = herd_summer(grass, herd, args.cows, seed=accelerator.process_index)
    loader = DataLoader(data, args.batch, shuffle=True)

    # the loader is already that of one herd, so that only model and optimizer are prepared
    model = MilkModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer = accelerator.prepare(model, optimizer)
    for epoch in range(args.epochs):
        total = torch.zeros(())
        for features, litres in loader:
            loss = nn.functional.mse_loss(model(features), litres)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            total += loss.detach()
            time.sleep(0.01)
        mean = accelerator.reduce(total / len(loader), reduction="mean")
        accelerator.print(f"epoch {epoch}: squared error {mean.item():.3f}", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
