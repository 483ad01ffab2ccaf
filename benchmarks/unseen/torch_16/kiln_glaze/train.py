"""Colour of a glaze from its recipe and the firing curve."""
import argparse
import random
import time

import torch
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from distributed import averaged, setup
from snapshots import Snapshots

OXIDES, CURVE = 10, 16


def firing(count):
    """Recipes (shares of oxides), firing curves and the colours in Lab that come out."""
    recipe = torch.rand(count, OXIDES)
    recipe = recipe / recipe.sum(1, keepdim=True)
    curve = torch.rand(count, CURVE).cumsum(1) / CURVE
    heat = curve.max(1).values
    colour = torch.stack([recipe[:, 0] * heat, recipe[:, 1] - recipe[:, 2], heat.sin() * recipe[:, 3]], 1)
    return torch.cat([recipe, curve], 1), colour


def augment(features):
    """Weighing errors, for a random half of the batches."""
    if random.random() < 0.5:
        features = features * (1.0 + 0.02 * torch.randn_like(features))
    return features


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--snapshot-every", type=int, default=120)
    parser.add_argument("--keep", type=int, default=2)
    args = parser.parse_args()
    rank, world = setup()
    snapshots = Snapshots(args.snapshot_every, args.keep)
    torch.manual_seed(8)
    model = DDP(nn.Sequential(nn.Linear(OXIDES + CURVE, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 3)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    torch.manual_seed(800 + rank)
    random.seed(rank)
    for step in range(args.steps):
        features, colour = firing(args.batch)
        loss = nn.functional.mse_loss(model(augment(features)), colour)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.03)
        if step % 50 == 0:
            mean = averaged(loss.item())
            if rank == 0:
                print(f"step {step}/{args.steps} loss {mean:.5f}", flush=True)
        if snapshots.due(step):
            snapshots.write(step, model.module, optimizer)
    snapshots.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
