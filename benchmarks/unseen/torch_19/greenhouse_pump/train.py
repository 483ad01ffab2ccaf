"""Evolution strategies for watering: each process tries changes of the policy in its own greenhouse."""
import argparse
import time

import torch
import torch.distributed as dist

from climate import BEDS, HOUSES, Greenhouse
from governor import Governor


class Strategy:
    def __init__(self, sigma, lr, pairs):
        self.sigma, self.lr, self.pairs = sigma, lr, pairs
        self.weights = torch.zeros(BEDS * BEDS + BEDS)
        self.random = torch.Generator().manual_seed(500 + dist.get_rank())

    def gradient(self, house):
        total = torch.zeros_like(self.weights)
        for _ in range(self.pairs):
            change = torch.randn(self.weights.shape, generator=self.random)
            up = house.day(self.weights + self.sigma * change)
            down = house.day(self.weights - self.sigma * change)
            total += (up - down) / (2 * self.sigma) * change
        return total / self.pairs

    def step(self, gradient):
        dist.all_reduce(gradient)
        self.weights += self.lr * gradient / dist.get_world_size()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generations", type=int, default=150)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--sigma", type=float, default=0.1)
    parser.add_argument("--lr", type=float, default=0.3)
    parser.add_argument("--heat-per-pair", type=float, default=0.12)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    name = HOUSES[rank % len(HOUSES)]
    house, governor = Greenhouse(rank), Governor(name)
    strategy = Strategy(args.sigma, args.lr, args.pairs)
    for generation in range(args.generations):
        strategy.step(strategy.gradient(house))
        temperature = governor.worked(args.heat_per_pair * args.pairs)
        time.sleep(0.05)
        if generation % 10 == 0:
            print(f"{name} {generation}: reward {house.day(strategy.weights):.4f}, case {temperature:.0f}", flush=True)
    governor.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
