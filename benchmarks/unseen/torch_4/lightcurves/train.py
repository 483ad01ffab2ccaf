"""Regress the period of variable stars from their light curves."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from catalog import stream


def build():
    return nn.Sequential(nn.Linear(32, 24), nn.GELU(), nn.Linear(24, 24), nn.GELU(), nn.Linear(24, 1))


def run_season(model, optimizer, batch_size):
    total, steps = 0.0, 0
    for flux, period in stream(dist.get_rank(), dist.get_world_size(), batch_size):
        loss = nn.functional.smooth_l1_loss(model(flux), period)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        steps += 1
        time.sleep(0.02)
    return total / max(steps, 1)


def season_report(season, mean_loss):
    losses = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(losses, torch.tensor([mean_loss]))
    if dist.get_rank() == 0:
        print(f"season {season}: " + " ".join(f"{l.item():.4f}" for l in losses), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seasons", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=6)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(7)
    model = DDP(build())
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for season in range(args.seasons):
        mean_loss = run_season(model, optimizer, args.batch_size)
        season_report(season, mean_loss)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
