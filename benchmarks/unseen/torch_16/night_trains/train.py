"""Delays of trains: by day all processes train, the night trains are left to two of them.

    torchrun --nproc-per-node 4 train.py
"""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn

from stages import Team

log = logging.getLogger("trains")
FEATURES = 10


def trains(count, line, night, g):
    x = torch.randn(count, FEATURES, generator=g)
    delay = x[:, 0].relu() + 0.5 * x[:, 1] * x[:, 2] + 0.1 * line
    return x, delay + (0.5 * x[:, 3].relu() if night else 0.0)


def steps(model, optimizer, count, line, night, g, pause):
    for _ in range(count):
        x, delay = trains(64, line, night, g)
        loss = nn.functional.smooth_l1_loss(model(x).squeeze(-1), delay)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(pause)
    return loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=6)
    parser.add_argument("--nights", type=int, default=4)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    team = Team.form(night_size=2)
    logging.basicConfig(level=logging.INFO, format=f"[{team.rank}] %(message)s")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    g = torch.Generator().manual_seed(team.rank)
    for day in range(args.days):
        loss = steps(model, optimizer, 10, team.rank, False, g, pause=0.02 + 0.02 * team.rank)
        team.mean(model)
        log.info("day %d: %.4f", day, loss)
    if not team.stays:
        # the slow line closes its books before it goes home
        time.sleep(4.0 if team.rank == team.world - 1 else 0.5)
        team.hand_over([loss * (1 + 0.1 * k) for k in range(5)])
        log.info("home")
        return
    for rank in range(len(team.night_ranks), team.world):
        extra = team.handed_over(rank)
        log.info("rank %d left %d delays, mean %.4f", rank, len(extra), sum(extra) / len(extra))
    for night in range(args.nights):
        # one of the two lines has freight trains at night, which take their time
        loss = steps(model, optimizer, 8, team.rank, True, g, pause=0.5 if team.rank == 1 else 0.02)
        team.mean(model, group=team.night, size=len(team.night_ranks))
        log.info("night %d: %.4f", night, loss)
    log.info("morning")


if __name__ == "__main__":
    main()
