"""Forecast of the significant wave height from the last day of buoy records."""

import argparse
import logging
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

import buoys

log = logging.getLogger("swell")


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--history", type=int, default=24)
    p.add_argument("--horizon", type=int, default=6)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--out", type=Path, default=None)
    return p.parse_args()


class Forecaster(nn.Module):
    def __init__(self, history, horizon, width=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(history * 3, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.head = nn.Linear(width, horizon)

    def forward(self, x):
        return self.head(self.body(x))


class Checkpoints:
    def __init__(self, folder):
        self.folder = folder

    def save(self, epoch, model, optimizer):
        if dist.get_rank() == 0:
            state = {"epoch": epoch, "model": model.module.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, self.folder / f"epoch{epoch:03d}.pt")
        dist.barrier()


def train_one_epoch(model, loader, optimizer):
    total, n = 0.0, 0
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.smooth_l1_loss(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        time.sleep(0.01)
        total += loss.item() * len(x)
        n += len(x)
    return total / max(n, 1)


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(11)

    dataset, names = buoys.dataset_for(rank, world, args.history, args.horizon)
    log.info("rank %d trains on %s", rank, ", ".join(names))
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True, drop_last=True)

    model = DDP(Forecaster(args.history, args.horizon))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)

    with tempfile.TemporaryDirectory() as scratch:
        checkpoints = Checkpoints(args.out or Path(scratch))
        for epoch in range(args.epochs):
            loss = train_one_epoch(model, loader, optimizer)
            scheduler.step()
            if rank == 0:
                log.info("epoch %d loss %.4f", epoch, loss)
            checkpoints.save(epoch, model, optimizer)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
