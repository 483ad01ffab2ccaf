"""An autoencoder of coins with FSDP2; the belts agree on the length of an epoch."""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from coins import PIXELS, Belt, Feed

log = logging.getLogger("mint")


def build(world):
    torch.manual_seed(40)
    model = nn.Sequential(nn.Linear(PIXELS, 20), nn.Tanh(), nn.Linear(20, PIXELS))
    mesh = init_device_mesh("cpu", (world,))
    return fully_shard(model, mesh=mesh)


def common_length(belt):
    length = torch.tensor(len(belt))
    dist.all_reduce(length, op=dist.ReduceOp.MIN)
    return int(length)


def sort_worst(errors, keep=30):
    """The worst trays for the operator's screen, on the process that has the screen."""
    time.sleep(1.1)
    return sorted(range(len(errors)), key=errors.__getitem__)[-keep:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--size", type=int, default=6)
    parser.add_argument("--screen-every", type=int, default=50)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = build(dist.get_world_size())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    belt = Belt(rank, options.size)
    feed, errors = Feed(belt), []
    for epoch in range(options.epochs):
        for coins in feed.epoch(epoch, common_length(belt)):
            loss = nn.functional.mse_loss(model(coins), coins)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            errors.append(loss.item())
            if rank == 2 and len(errors) % options.screen_every == 0:
                log.info("worst trays: %s", sort_worst(errors)[-3:])
    dist.barrier()
    log.info("belt %d: %d trays replaced", rank, feed.replaced)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
