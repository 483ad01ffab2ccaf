"""Predicts failures of wind turbines: a body that all farms share (DDP) and heads that the farms of a region average."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from sites import Farm, Regions

# season -> farms of the region; the farm on the hill freezes in winter and learns its head alone
REGION = {0: [0, 1, 2, 3], 2: [0, 1, 2], 4: [0, 1, 2, 3]}


class Body(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())

    def forward(self, signals):
        return self.layers(signals)


class Forecaster:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        self.farm = Farm(self.rank, args.hours)
        torch.manual_seed(0)
        self.body = DistributedDataParallel(Body())
        self.head = nn.Linear(48, 1)
        parameters = [*self.body.parameters(), *self.head.parameters()]
        self.optimizer = torch.optim.AdamW(parameters, lr=args.lr, weight_decay=1e-3)
        self.regions = Regions(REGION)
        self.g = torch.Generator().manual_seed(self.rank)

    def step(self):
        signals, failing = self.farm.draw(self.args.batch, self.g)
        logits = self.head(self.body(signals))[:, 0]
        loss = nn.functional.binary_cross_entropy_with_logits(logits, failing)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def season(self, number):
        self.regions.regroup(number)
        total = torch.zeros(())
        for _ in range(self.args.steps):
            total += self.step()
            time.sleep(0.02)
        self.regions.average(self.head)
        return total / self.args.steps

    def run(self):
        for number in range(self.args.seasons):
            loss = self.season(number)
            print(f"season {number} farm {self.rank}: {loss.item():.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hours", type=int, default=5000)
    parser.add_argument("--seasons", type=int, default=8)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Forecaster(args).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
