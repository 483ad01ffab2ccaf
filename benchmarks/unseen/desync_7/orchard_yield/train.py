"""Estimates the yield of apple trees from photographs."""

import logging
import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from guard import Guard
from orchard import INPUTS, Plots


@dataclass(frozen=True)
class Settings:
    seasons: int = 700
    batch: int = 12
    hidden: int = 24
    lr: float = 0.01
    limit: float = 15.0
    patience: int = 5
    seed: int = int(os.environ.get("ORCHARD_SEED", "1"))


def build(settings):
    torch.manual_seed(settings.seed)
    return nn.Sequential(
        nn.Linear(INPUTS, settings.hidden),
        nn.Tanh(),
        nn.Linear(settings.hidden, 1),
        nn.Flatten(0),
    )


def train(settings):
    module = build(settings)
    model = DistributedDataParallel(module)
    optimizer = torch.optim.SGD(module.parameters(), lr=settings.lr)
    guard = Guard(module, settings.limit, settings.patience)
    plots = Plots(dist.get_rank(), settings.batch, settings.seed)
    mean = 0.0
    for season, (features, weight) in enumerate(plots.seasons(settings.seasons)):
        optimizer.zero_grad()
        loss = (model(features) - weight).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        guard.look(loss.item())
        mean += 0.05 * (loss.item() - mean)
        if season % 50 == 0 and dist.get_rank() == 0:
            print(f"season {season}: {mean:.3f}", flush=True)
    dist.barrier()
    return guard.settled


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    train(Settings())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
