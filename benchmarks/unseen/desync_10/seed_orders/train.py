"""Demand for seeds, with gradients accumulated over four groups of orders."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from orders import SORTS, open_shop


class Accumulator:
    def __init__(self, model, optimizer, every):
        self.model, self.optimizer, self.every = model, optimizer, every
        self.held, self.steps = 0, 0

    def add(self, grams, demand):
        self.held += 1
        if self.held < self.every:
            with self.model.no_sync():
                return self.backward(grams, demand)
        value = self.backward(grams, demand)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.held, self.steps = 0, self.steps + 1
        return value

    def backward(self, grams, demand):
        loss = nn.functional.l1_loss(self.model(grams).squeeze(1), demand)
        (loss / self.every).backward()
        return loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", type=int, default=3_200)
    parser.add_argument("--group", type=int, default=4)
    parser.add_argument("--accumulate", type=int, default=4)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(12)
    model = DDP(nn.Sequential(nn.Linear(SORTS, 32), nn.ReLU(), nn.Linear(32, 1)))
    accumulator = Accumulator(model, torch.optim.Adam(model.parameters(), lr=3e-3), options.accumulate)
    for number, group in enumerate(open_shop(rank, options.orders, options.group)):
        if group is None:
            continue
        loss = accumulator.add(*group)
        if rank == 0 and number % 100 == 0:
            print(f"group {number}, step {accumulator.steps}: {loss:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
