"""Wage curves of three regions, fitted together: every process reads the survey of its own region."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from basis import Hinges, WageCurves
from data import REGIONS, Batches, survey

log = logging.getLogger("wages")


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=4000)
    parser.add_argument("--knots", type=int, default=6)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--smooth", type=float, default=1e-3)
    return parser.parse_args()


def build(args, x):
    torch.manual_seed(7)
    network = WageCurves(Hinges(x, args.knots), args.width)
    log.info("%d features", network.hinges.features)
    return DistributedDataParallel(network)


def fit(args, model, batches):
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    for step, (x, y) in zip(range(args.steps), batches):
        loss = nn.functional.mse_loss(model(x), y)
        penalty = args.smooth * model.module.roughness()
        optimizer.zero_grad()
        (loss + penalty).backward()
        optimizer.step()
        schedule.step()
        time.sleep(0.02)
        if step % 50 == 0:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            log.info("step %d loss %.4f", step, mean.item() / dist.get_world_size())


def main():
    args = parse()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING)
    region = list(REGIONS)[rank % len(REGIONS)]
    x, y = survey(region, args.people, seed=50 + rank)
    model = build(args, x)
    fit(args, model, Batches(x, y, args.batch, seed=rank))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
