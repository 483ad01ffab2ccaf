"""Learns to tell weaving patterns apart; one process for each loom."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from patches import KINDS, SIDE, make_loader, optical_density

log = logging.getLogger("loom")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--pictures", type=int, default=500, help="batches in a roll of cloth")
    parser.add_argument("--lr", type=float, default=0.05)
    return parser.parse_args()


def build():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Linear(SIDE * SIDE, 48),
        nn.GELU(),
        nn.Linear(48, KINDS),
    )


def train(args, rank):
    model = DistributedDataParallel(build())
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    loader = make_loader(rank, args)
    rolls, step = iter(loader), 0
    while step < args.steps:
        try:
            pictures, kinds = next(rolls)
        except StopIteration:
            rolls = iter(loader)
            pictures, kinds = next(rolls)
        step += 1
        loss = nn.functional.cross_entropy(model(optical_density(pictures)), kinds)
        if not torch.isfinite(loss):
            log.warning("step %d: loss %s, batch dropped", step, loss.item())
            continue
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            log.info("step %d: loss %.3f", step, loss.item())
    return model.module


def main():
    args = parse()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(asctime)s %(message)s")
    model = train(args, rank)
    dist.barrier()
    norm = sum(p.norm().item() for p in model.parameters())
    log.info("done, norm %.2f", norm)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
