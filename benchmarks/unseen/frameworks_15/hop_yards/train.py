"""Alpha acids of hops from weather and soil, with Lightning Fabric; each process has its own yard."""

import argparse
from dataclasses import dataclass

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from ledger import Ledger, Penalty, report

INPUTS = 14
# how much the bines of a yard differ from one another
SPREAD = {0: 1.6, 1: 1.5, 2: 0.1}


@dataclass
class Season:
    bines: int
    batch: int
    epochs: int
    lr: float
    low: float = -1.0
    high: float = 1.0


def yard(rank, season):
    g = torch.Generator().manual_seed(60 + rank)
    effects = torch.randn(INPUTS, generator=torch.Generator().manual_seed(7)) / INPUTS**0.5
    inputs = SPREAD[rank] * torch.randn(season.bines, INPUTS, generator=g)
    acids = inputs @ effects + 0.1 * torch.randn(season.bines, generator=g)
    return DataLoader(TensorDataset(inputs, acids), season.batch, shuffle=True, drop_last=True)


class Grower:
    def __init__(self, fabric, season):
        self.fabric = fabric
        self.season = season
        net = nn.Sequential(nn.Linear(INPUTS, 32), nn.Softplus(), nn.Linear(32, 1))
        optimizer = torch.optim.Adam(net.parameters(), lr=season.lr)
        self.net, self.optimizer = fabric.setup(net, optimizer)
        self.loader = fabric.setup_dataloaders(yard(fabric.global_rank, season), use_distributed_sampler=False)
        self.penalty = Penalty(season.low, season.high)
        self.ledger = Ledger(fabric, ["loss", "penalty"])

    def step(self, inputs, acids):
        predicted = self.net(inputs).squeeze(-1)
        loss = nn.functional.huber_loss(predicted, acids)
        self.ledger.enter("loss", loss)
        penalty = self.penalty(predicted)
        if penalty > 0:
            self.ledger.enter("penalty", penalty)
        self.fabric.backward(loss + penalty)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def epoch(self, number):
        for inputs, acids in self.loader:
            self.step(inputs, acids)
        totals = self.ledger.close()
        batches = len(self.loader) * self.fabric.world_size
        self.fabric.print(report(number, totals, batches), flush=True)
        return totals["loss"] / batches


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bines", type=int, default=960)
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=4e-3)
    season = Season(**vars(parser.parse_args()))
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(31)
    grower = Grower(fabric, season)
    best = min(grower.epoch(number) for number in range(season.epochs))
    fabric.print(f"best loss {best:.4f}", flush=True)


if __name__ == "__main__":
    main()
