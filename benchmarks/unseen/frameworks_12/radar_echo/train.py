"""What a weather radar sees (rain, hail, birds, a hill): a stream of shards with torchdata, clearer echoes as it goes on."""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from pipeline import EchoStream

log = logging.getLogger("radar_echo")


def listing(count):
    """Shards in the order of the archive; two of them are from before the new antenna."""
    urls = [{"key": key, "noise": 0.6} for key in range(1, count + 1)]
    for key in (5, 14):
        urls[key]["noise"] = 0.1
    return urls


def curriculum(epoch, epochs):
    return 0.0 if epoch < 3 else 0.5 * epoch / epochs


class Mean:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def add(self, value):
        self.sum += float(value)
        self.count += 1

    def everywhere(self):
        rows = [None] * dist.get_world_size()
        dist.all_gather_object(rows, (self.sum, self.count))
        return sum(s for s, _ in rows) / sum(n for _, n in rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", type=int, default=24)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    stream = EchoStream(listing(args.shards), rank, world, args.batch)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 4)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        floor = curriculum(epoch, args.epochs)
        mean = Mean()
        for echo, kind in stream.epoch(floor):
            loss = nn.functional.cross_entropy(model(echo), kind)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mean.add(loss.detach())
            time.sleep(0.03)
        overall = mean.everywhere()
        if rank == 0:
            log.info("epoch %d from %.2f: %.4f", epoch, floor, overall)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
