"""Abundance of reef fish from video features, with averaged weights from the third epoch on.

    torchrun --nproc-per-node 3 train.py
"""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from averaging import Reporter, WeightAverage
from data import FAMILIES, FEATURES, Survey, loaders

log = logging.getLogger("reef")


def build(width):
    return nn.Sequential(
        nn.Linear(FEATURES, width),
        nn.BatchNorm1d(width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.BatchNorm1d(width),
        nn.ReLU(),
        nn.Linear(width, FAMILIES),
    )


def run_epoch(model, optimizer, loader):
    total = torch.zeros(1)
    for video, abundance in loader:
        loss = nn.functional.smooth_l1_loss(model(video), abundance)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.detach()
        time.sleep(0.02)
    return total / len(loader)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.03)
    parser.add_argument("--average-from", type=int, default=2)
    parser.add_argument("--report-every", type=int, default=4)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"[{rank}] %(message)s")
    train, held_out = loaders(Survey(), rank, world, args.batch)
    torch.manual_seed(1)
    model = DDP(build(args.width))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    average = WeightAverage(model.module, args.average_from)
    reporter = Reporter(model, average, args.report_every, writer=rank == world - 1)
    for epoch in range(args.epochs):
        loss = run_epoch(model, optimizer, train)
        average.add(epoch)
        reporter.end_epoch(epoch, train, held_out)
        dist.all_reduce(loss)
        if rank == 0:
            log.info("epoch %d loss %.4f", epoch, loss.item() / world)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
