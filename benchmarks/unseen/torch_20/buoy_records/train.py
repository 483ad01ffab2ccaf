"""Height of waves from wind and pressure; each process has the buoys of one sea."""
import argparse
import logging
import os
import shutil
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

import records


class SeaData:
    """The part of this process, in memory; read before the processes connect, since cutting may take long."""

    def __init__(self, rank, count):
        self.folder = records.workspace()
        if rank == 0:
            records.cut(self.folder, count)
        rows = torch.tensor(records.load_part(self.folder, rank))
        self.inputs, self.heights = rows[:, :3], rows[:, 3]

    def batches(self, steps, size, generator):
        for _ in range(steps):
            pick = torch.randint(0, len(self.inputs), (size,), generator=generator)
            yield self.inputs[pick], self.heights[pick]

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def build(width):
    return nn.Sequential(nn.Linear(3, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))


def fit(model, data, args, rank):
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    generator = torch.Generator().manual_seed(60 + rank)
    for epoch in range(args.epochs):
        for inputs, heights in data.batches(args.steps, args.batch, generator):
            loss = nn.functional.mse_loss(model(inputs).squeeze(1), heights)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.01)
        if rank == 0:
            logging.info("epoch %d: %.4f", epoch, loss.item())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--hours", type=int, default=4000)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    data = SeaData(rank, args.hours)
    dist.init_process_group("gloo")
    torch.manual_seed(17)
    fit(DDP(build(args.width)), data, args, rank)
    dist.barrier()
    if rank == 0:
        data.remove()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
