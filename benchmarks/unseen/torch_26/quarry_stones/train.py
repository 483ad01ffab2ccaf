"""Weights of stones; the yards have different numbers of them, so training runs under Join."""
import argparse
import logging
import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP

from ledger import SlowShare, export
from yard import stone_loader

log = logging.getLogger("quarry")


def train_epoch(model, optimizer, loader, share):
    """A yard without stones follows the others until the last of them is done."""
    total, batches = 0.0, 0
    with Join([model]):
        for sides, weight in loader:
            loss = nn.functional.mse_loss(model(sides)[:, 0], weight)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            batches += 1
            time.sleep(0.05)
            if batches % 10 == 0:
                share.write(f"{batches},{total / batches:.5f}")
    return torch.tensor([total, float(batches)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--latency", type=float, default=0.5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"[{rank}] %(message)s")
    loader = stone_loader(rank, args.batch)
    torch.manual_seed(5)
    model = DDP(nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    handle, path = tempfile.mkstemp(prefix=f"quarry-{rank}-", suffix=".csv")
    os.close(handle)
    share = SlowShare(path, args.latency)
    for epoch in range(args.epochs):
        totals = train_epoch(model, optimizer, loader, share)
        dist.all_reduce(totals)
        if rank == 0:
            log.info("epoch %d: loss %.4f in %d batches", epoch, totals[0] / totals[1], totals[1])
            log.info("%d characters for the office", export(path))
        dist.barrier()
    dist.destroy_process_group()
    share.finish()
    share.join()
    os.remove(path)


if __name__ == "__main__":
    main()
