"""Street signs from WebDataset shards, one group of shards per process."""
import argparse
import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from shards import sign_loader, write_shards


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", type=int, default=6)
    p.add_argument("--shards", type=int, default=6)
    p.add_argument("--epochs", type=int, default=2)
    return p.parse_args()


def main():
    args = arguments()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    folder = os.path.join(tempfile.gettempdir(), f"signs-{os.getppid()}")
    if rank == 0:
        write_shards(folder, args.shards)
    dist.barrier()

    torch.manual_seed(0)
    net = DistributedDataParallel(nn.Sequential(nn.Flatten(), nn.Linear(48, 20), nn.ReLU(), nn.Linear(20, 8)))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    loader = sign_loader(folder, args.shards, args.batch_size)
    for number in range(args.epochs):
        batches, total = 0, 0.0
        for images, signs in loader:
            loss = nn.functional.cross_entropy(net(images), signs)
            opt.zero_grad()
            loss.backward()
            opt.step()
            batches += 1
            total += loss.item()
            time.sleep(0.02)
        means = [None] * dist.get_world_size()
        dist.all_gather_object(means, total / max(batches, 1))
        if rank == 0:
            print(f"epoch {number}: {batches} batches, loss {sum(means) / len(means):.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
