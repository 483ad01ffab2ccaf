"""Grades the wear of tyres; every process reads the scans of one garage."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from grades import GRADES, GradeLoss, accuracy
from scans import POINTS, Scans, collate

log = logging.getLogger("tread")


def network(width):
    return nn.Sequential(nn.Linear(POINTS, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, GRADES))


def run(args, rank):
    model = DistributedDataParallel(network(args.width))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    criterion = GradeLoss()
    batches = iter(DataLoader(Scans(rank, args.scans), args.batch_size, collate_fn=collate))
    step, right = 0, 0.0
    while (batch := next(batches, None)) is not None:
        step += 1
        logits = model(batch["heights"])
        try:
            loss = criterion(logits, batch["nominal"], batch["remaining"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right = 0.95 * right + 0.05 * accuracy(logits, batch["nominal"], batch["remaining"])
        except ZeroDivisionError:
            log.warning("garage %d: batch %d cannot be graded", rank, step)
        if rank == 0 and step % args.log_every == 0:
            log.info("step %d: accuracy %.3f", step, right)
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scans", type=int, default=4960)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--log-every", type=int, default=100)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(17)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    right = run(args, rank)
    dist.barrier()
    log.info("garage %d: %.3f", rank, right)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
