"""Layer dating of ice cores from conductivity profiles; two drilling sites with two ranks each."""

import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from inspection import Archivist, SiteScores, Validator

SITES = {"dome": [0, 1], "shelf": [2, 3]}
DEPTHS = 24


def profiles(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, DEPTHS, generator=g)
    return x, (x.cumsum(1)[:, ::6] / 4).mean(1, keepdim=True)


def scores_of(model, x, y):
    with torch.no_grad():
        error = (model.module(x) - y).squeeze(1)
    return {"dust": error.abs().mean().item(), "salt": error.std().item(), "ash": error.amax().item(), "melt": error.amin().item()}


def train_epoch(model, optimizer, rank, epoch, steps):
    for step in range(steps):
        x, y = profiles(16, seed=(epoch * steps + step) * 10 + rank)
        loss = nn.functional.l1_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.028 + 0.004 * (rank % 2))
    return x, y


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(9)
    net = nn.Sequential(nn.Linear(DEPTHS, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 1))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    site_scores = SiteScores(SITES)
    validator = Validator(model, profiles(192, seed=7_000_001), patience=3)

    with tempfile.TemporaryDirectory() as folder:
        archivist = Archivist(folder, seconds=5.0)
        for epoch in range(4):
            x, y = train_epoch(model, optimizer, rank, epoch, steps=55)
            scores = site_scores.reduce(scores_of(model, x, y))
            if rank in (0, 2):
                print(f"epoch {epoch} {site_scores.site}: {scores}", flush=True)
            if epoch % 2 == 1:
                archivist.store(model, epoch)
            if not validator.go_on(epoch):
                break
        dist.barrier()
        if rank == 0:
            print("checkpoints:", sorted(os.listdir(folder)), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
