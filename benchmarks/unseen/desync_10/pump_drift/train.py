"""Drift of the delivery of infusion pumps, with SVRG; each process has the pumps of one ward."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import nn

from variance import VarianceReduced

INPUTS = 11


class Ward:
    def __init__(self, ward, batch):
        self.ward, self.batch = ward, batch
        self.rng = random.Random(ward)
        self.weights = torch.linspace(-1, 1, INPUTS)

    def readings(self, number, rows):
        generator = torch.Generator().manual_seed(100_000 * self.ward + number)
        x = torch.randn(rows, INPUTS, generator=generator)
        y = x @ self.weights + 0.1 * torch.randn(rows, generator=generator)
        if self.ward == 2 and number == 175:
            x = 300 * x  # microlitres
        return x, y

    def next_batch(self, number):
        time.sleep(self.rng.uniform(0.04, 0.055))
        return self.readings(number, self.batch)

    def sample(self):
        return self.readings(99_999, 4 * self.batch)


def squared_error(model, batch):
    x, y = batch
    return nn.functional.mse_loss(model(x).squeeze(1), y)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=650)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--refresh", type=int, default=50)
    parser.add_argument("--limit", type=float, default=100.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = nn.Linear(INPUTS, 1)
    ward = Ward(rank, options.batch)
    sample = ward.sample()
    optimizer = VarianceReduced(model, squared_error, 0.02, options.refresh, options.limit)
    for number in range(options.rounds):
        loss = optimizer.step(ward.next_batch(number), sample, number)
        if rank == 0 and number % 100 == 0:
            print(f"round {number}: {loss:.3f}", flush=True)
    dist.barrier()
    print(f"ward {rank}: {optimizer.refreshed} references", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
