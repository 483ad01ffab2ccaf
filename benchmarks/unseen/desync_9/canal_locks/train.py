"""Minutes that a boat needs at a lock; all boats of an hour make one step."""

import argparse
import contextlib
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from forecast import Forecast
from passages import FEATURES, Lock, groups


def one_hour(model, optimizer, lock, hour, size):
    """Backward for every group of boats; DDP reduces with the last one."""
    features, minutes = lock.hour(hour)
    boats = torch.tensor(float(len(minutes)))
    dist.all_reduce(boats)
    weight = dist.get_world_size() / boats
    total = 0.0
    for (part, target), last in groups(features, minutes, size):
        with contextlib.nullcontext() if last else model.no_sync():
            loss = weight * (model(part) - target).square().sum()
            loss.backward()
        total += loss.item()
    optimizer.step()
    optimizer.zero_grad()
    return total


def calm(total, limit):
    """Whether all locks have a small error; the answer is the same everywhere."""
    worst = torch.tensor(total)
    dist.all_reduce(worst, op=dist.ReduceOp.MAX)
    return worst.item() < limit


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hours", type=int, default=400)
    parser.add_argument("--size", type=int, default=4, help="boats that fit into a lock")
    parser.add_argument("--limit", type=float, default=1e-7)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(2)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(FEATURES, 24), nn.ReLU(), nn.Linear(24, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    lock, forecast = Lock(rank), Forecast(every=120)
    for hour in range(args.hours):
        total = one_hour(model, optimizer, lock, hour, args.size)
        if hour % 24 == 23 and calm(total, args.limit):
            break
        if rank == 0 and forecast.due(hour):
            forecast.run(model.module, hour)
    dist.barrier()
    logging.info("lock %d is done", rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
