"""Expected catches of moths from the weather; traps with fewer nights join in until the last one is done."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel

from nights import MOTHS, WEATHER, trap

log = logging.getLogger("moths")


class Catches(nn.Module):
    def __init__(self, hidden=20):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WEATHER, hidden), nn.Softplus(), nn.Linear(hidden, MOTHS))

    def forward(self, weather):
        return self.layers(weather)


def season(model, optimizer, nights):
    """One pass over the nights of this trap; returns the sum of the losses and how many batches there were."""
    total, count = 0.0, 0
    with Join([model]):
        for weather, catch in nights:
            loss = nn.functional.poisson_nll_loss(model(weather), catch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            count += 1
            if count % 100 == 0:
                log.info("trap %d: %d batches, %.3f", dist.get_rank(), count, total / count)
    return total, count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.01)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(2)
    model = DistributedDataParallel(Catches())
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    torch.manual_seed(100 + rank)
    total, count = season(model, optimizer, trap(rank))
    sums = torch.tensor([total, float(count)])
    dist.all_reduce(sums)
    if rank == 0:
        log.info("mean loss of %d batches: %.3f", int(sums[1]), sums[0] / sums[1])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
