"""Tempo of a passage from the punches of a piano roll."""

import argparse
import logging
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from pipeline import build_loader
from punches import COLUMNS, KEYS

log = logging.getLogger("rolls")


def build_model():
    return nn.Sequential(nn.Flatten(), nn.Linear(COLUMNS * KEYS, 32), nn.ReLU(), nn.Linear(32, 1))


def train(model, loader, args):
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        total, batches = torch.zeros(()), 0
        for batch in loader:
            loss = nn.functional.mse_loss(model(batch["holes"]).squeeze(-1), batch["tempo"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
            batches += 1
        mean = total / batches
        dist.all_reduce(mean)
        log.info("epoch %d: %.4f", epoch, mean.item() / dist.get_world_size())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rolls", type=int, default=4, help="per process")
    parser.add_argument("--passages", type=int, default=300)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(message)s")
    torch.manual_seed(0)
    model = DistributedDataParallel(build_model())
    log.info("%d processes on %s", dist.get_world_size(), os.uname().nodename)
    train(model, build_loader(rank, args), args)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
