"""Forecast of the lowest temperature of a night in three orchards, month by month."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

import nights
from evaluation import FrostError, WarningRate, evaluate

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("frost")


def build():
    torch.manual_seed(21)
    return nn.Sequential(
        nn.Linear(nights.READINGS, 32),
        nn.LayerNorm(32),
        nn.GELU(),
        nn.Linear(32, 1),
    )


def train_month(model, optimizer, loader):
    for readings, lowest in loader:
        loss = nn.functional.l1_loss(model(readings).squeeze(1), lowest)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--first-month", type=int, default=2)
    parser.add_argument("--months", type=int, default=6)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.01)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = DDP(build())
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    metrics = {"warnings": WarningRate(), "frost_error": FrostError()}
    for month in range(args.first_month, args.first_month + args.months):
        train_month(model, optimizer, DataLoader(nights.training(rank, month), batch_size=args.batch, shuffle=True))
        figures = evaluate(model.module, DataLoader(nights.held_out(rank, month), batch_size=30), metrics)
        if rank == 0:
            log.info("month %d %s", month, " ".join(f"{name}={value:.3f}" for name, value in figures.items()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
