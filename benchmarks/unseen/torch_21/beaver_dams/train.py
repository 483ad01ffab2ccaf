"""Forecasts of the level below beaver dams: a model per river, and pairs of rivers that average their models weekly."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn

from gauges import River
from gossip import Gossip, Site

# River -> week -> gauge that went under.
FLOODED = {1: {}, 3: {17: 2}}


def week_of_training(model, optimizer, river, week, args):
    total = 0.0
    for _ in range(args.steps):
        level, later = river.batch(week, args.batch)
        loss = nn.functional.mse_loss(model(level), later)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        time.sleep(0.01)
    return total / args.steps


def mend(river, site, week):
    """Puts one of the spare gauges in the place of a flooded one."""
    place = river.lost(week)
    if place is not None and river.spare:
        gauge = site.draw.choice(river.spare)
        river.replace(place, gauge)
        print(f"week {week}: gauge {gauge} is read in place {place}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weeks", type=int, default=52)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=2025)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    site = Site(args.seed)
    torch.manual_seed(site.rank)
    river = River(site.rank, flooded=FLOODED.get(site.rank))
    model = nn.Sequential(nn.Linear(len(river.in_use), args.width), nn.Tanh(), nn.Linear(args.width, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    gossip = Gossip(model, site)
    for week in range(args.weeks):
        mend(river, site, week)
        loss = torch.tensor(week_of_training(model, optimizer, river, week, args))
        partner = gossip.meet()
        dist.all_reduce(loss)
        if site.rank == 0:
            print(f"week {week}: met {partner}, loss {loss.item() / site.world:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
