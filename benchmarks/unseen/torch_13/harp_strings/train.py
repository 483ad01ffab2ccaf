"""Tension of harp strings from their sound. Workshops have recorded differently many strings; DDP runs under Join."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from recordings import Workshop


class Ear(nn.Module):
    def __init__(self, bins=40, width=48):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(bins, width), nn.LayerNorm(width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1)
        )

    def forward(self, spectrum):
        return self.net(spectrum)[:, 0]


def train_epoch(model, optimizer, batches):
    total, steps = 0.0, 0
    with Join([model, optimizer]):
        for spectrum, tension in batches:
            loss = nn.functional.mse_loss(model(spectrum), tension)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            steps += 1
    return total, steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strings", type=int, default=96, help="recorded by the smallest workshop")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    workshop = Workshop(rank, args.strings * (1 + 2 * rank), args.batch)
    torch.manual_seed(0)
    model = DistributedDataParallel(Ear())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=2e-3)
    for epoch in range(args.epochs):
        begin = time.monotonic()
        total, steps = train_epoch(model, optimizer, workshop.batches(epoch))
        sums = torch.tensor([total, float(steps)])
        dist.all_reduce(sums)
        print(f"epoch {epoch} rank {rank}: {steps} steps in {time.monotonic() - begin:.1f} s", flush=True)
        if rank == 0:
            print(f"epoch {epoch} error {(sums[0] / sums[1]).item():.3f}", flush=True)
    workshop.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
