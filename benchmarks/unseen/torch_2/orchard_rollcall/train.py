"""Pest detector for orchards. Each rank learns from one orchard, spawned with mp.spawn.

The models stay separate; only the weekly counts are compared, which set the decision threshold.
"""
import argparse
import os
import socket
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

from rollcall import RollCall

SEASON = {"apple": 14, "pear": 14, "quince": 5}      # weeks with trap pictures
ORCHARDS = list(SEASON)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Orchard:
    def __init__(self, name, rank):
        self.weeks = SEASON[name]
        self.gen = torch.Generator().manual_seed(rank)

    def __call__(self, week, n=8):
        pictures = torch.randn(n, 3, 16, 16, generator=self.gen)
        pests = (pictures.mean((1, 2, 3)) > 0.02 * (week % 3)).long()
        return pictures, pests


def detector():
    return nn.Sequential(
        nn.Conv2d(3, 6, 3, stride=2), nn.ReLU(), nn.Conv2d(6, 6, 3), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 2),
    )


def season(orchard, rollcall, verbose):
    net = detector()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    threshold = 0.5
    for week in range(max(SEASON.values())):
        if week >= orchard.weeks:
            return net
        counts = {"pictures": 0, "pests": 0}
        for _ in range(6):
            pictures, pests = orchard(week)
            logits = net(pictures)
            loss = nn.functional.cross_entropy(logits, pests)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.04)
            counts["pictures"] += len(pests)
            counts["pests"] += int((logits.softmax(1)[:, 1] > threshold).sum())
        rollcall.report(week, counts)
        total = rollcall.totals(week)
        threshold = 0.5 + 0.1 * (total["pests"] / total["pictures"] - 0.5)
        if verbose:
            print(f"week {week:2d} {total} threshold {threshold:.3f}", flush=True)
    return net


def worker(rank, world, port):
    torch.set_num_threads(1)
    store = dist.TCPStore("127.0.0.1", port, world, is_master=rank == 0)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    season(Orchard(ORCHARDS[rank], rank), RollCall(store, rank, world), verbose=rank == 0)
    dist.destroy_process_group()


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    mp.spawn(worker, args=(len(ORCHARDS), free_port()), nprocs=len(ORCHARDS))
