"""Moult and mass of falcons: one network with two heads, trained with Fabric season by season, one mews per process."""

import argparse

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader

from aviary import MEWS, STAGES, TRAITS, masses, moults
from scores import Scoreboard


class FalconNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(TRAITS, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.stage = nn.Linear(width, STAGES)
        self.mass = nn.Linear(width, 1)

    def forward(self, traits):
        hidden = self.trunk(traits)
        return self.stage(hidden), self.mass(hidden).squeeze(-1)


def held_out(season, rank, batch):
    sets = {
        "moult": moults(season.moults, seed=500 + rank),
        "mass": masses(season.masses, seed=600 + rank),
    }
    return {name: DataLoader(data, batch) for name, data in sets.items()}


def train_season(fabric, model, optimizer, args, seed):
    pairs = zip(
        DataLoader(moults(args.records, seed), args.batch, shuffle=True),
        DataLoader(masses(args.records, seed + 50), args.batch, shuffle=True),
    )
    running = 0.0
    for (wing, stage), (traits, mass) in pairs:
        logits, found = model(torch.cat([wing, traits]))
        loss = nn.functional.cross_entropy(logits[: len(wing)], stage)
        loss = loss + nn.functional.mse_loss(found[len(wing) :], mass)
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
        running = 0.95 * running + 0.05 * loss.item()
    return running


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=3200)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=len(MEWS), strategy="ddp")
    fabric.launch()
    fabric.seed_everything(9)
    model = FalconNet(args.width)
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=args.lr))
    board = Scoreboard(fabric)
    rank = fabric.global_rank
    for number, season in enumerate(MEWS[rank]):
        running = train_season(fabric, model, optimizer, args, seed=1000 * number + rank)
        scores = board.score(model, held_out(season, rank, args.batch))
        fabric.print(f"{season.name}: loss {running:.3f}", {k: round(v, 3) for k, v in scores.items()}, flush=True)
    fabric.barrier()


if __name__ == "__main__":
    main()
