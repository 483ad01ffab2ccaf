"""Delivery time of parcels, for city and rural routes."""

import logging
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

from meters import Meters


@dataclass
class Options:
    days: int = 60
    per_day: int = 24
    epochs: int = 6
    lr: float = 0.01
    patience: int = 3


class Tours(Dataset):
    """One item is one tour: all parcels of a van on one day. The depots plan their week differently."""

    PLANS = (("city", "rural", "city"), ("rural", "city", "city"), ("city", "city", "rural"))

    def __init__(self, depot, options):
        self.plan = self.PLANS[depot]
        self.options = options
        self.g = torch.Generator().manual_seed(depot)
        self.x = torch.randn(options.days, options.per_day, 7, generator=self.g)
        self.noise = 0.1 * torch.randn(options.days, options.per_day, generator=self.g)

    def __len__(self):
        return self.options.days

    def __getitem__(self, day):
        route = self.plan[day % len(self.plan)]
        x = self.x[day]
        base = 2.0 if route == "rural" else 1.0
        return x, base + x[:, 0] * 0.5 - x[:, 3] * 0.2 + self.noise[day], route


class EarlyStop:
    def __init__(self, patience):
        self.patience, self.best, self.bad = patience, float("inf"), 0

    def __call__(self, value):
        self.bad = 0 if value < self.best else self.bad + 1
        self.best = min(self.best, value)
        return self.bad >= self.patience


def train(options):
    depot = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(7, 24), nn.Tanh(), nn.Linear(24, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)
    loader = DataLoader(Tours(depot, options), batch_size=None)
    stop = EarlyStop(options.patience)
    for epoch in range(options.epochs):
        meters = Meters()
        for x, hours, route in loader:
            predicted = model(x).squeeze(1)
            loss = nn.functional.l1_loss(predicted, hours)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meters.update(route, (predicted.detach() - hours).abs())
            time.sleep(0.02)
        summary = meters.merge()
        if depot == 0:
            logging.info("epoch %d city p95 %.3f rural mean %.3f", epoch, summary["city"], summary["rural"])
        if stop(summary["city"]):
            break


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    train(Options())
    dist.barrier()
    dist.destroy_process_group()
