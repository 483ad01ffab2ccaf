"""Dates of broadside ballads with Lightning Fabric; long batches are worked through in pieces."""

import argparse
import time
from types import SimpleNamespace

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader

from ballads import WIDTH, Broadsides
from chunks import pad, pieces


class Dater(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.line = nn.Sequential(nn.Linear(WIDTH, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.year = nn.Linear(hidden, 1)

    def forward(self, verses):
        return self.year(self.line(verses).mean(1)).squeeze(-1)


def collate(rows):
    verses, years = zip(*rows)
    return pad(list(verses)), torch.stack(years)


class Workshop:
    def __init__(self, fabric, args):
        self.fabric = fabric
        self.args = args
        model = Dater(args.hidden)
        optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
        self.model, self.optimizer = fabric.setup(model, optimizer)
        data = Broadsides(fabric.global_rank, args.sheets, seed=6)
        loader = DataLoader(data, args.batch, collate_fn=collate)
        self.loader = fabric.setup_dataloaders(loader, use_distributed_sampler=False)

    def step(self, verses, years):
        self.optimizer.zero_grad()
        total = 0.0
        for part, target, share in pieces(verses, years, self.args.lines):
            loss = nn.functional.mse_loss(self.model(part), target) * share
            self.fabric.backward(loss)
            total += loss.item()
        self.optimizer.step()
        return total

    def epoch(self):
        losses = []
        for verses, years in self.loader:
            losses.append(self.step(verses, years))
            time.sleep(0.03)
        return torch.tensor(losses).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sheets", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--lines", type=int, default=320, help="padded lines that fit into memory")
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args(namespace=SimpleNamespace())
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(9)
    workshop = Workshop(fabric, args)
    for epoch in range(args.epochs):
        loss = workshop.epoch()
        mean = fabric.all_gather(loss).mean()
        fabric.print(f"epoch {epoch}: {mean.item():.4f}", flush=True)
    fabric.barrier()


if __name__ == "__main__":
    main()
