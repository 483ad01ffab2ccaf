"""Alcohol content of fermenting must, one tank for each process."""

import logging
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from engine import CarefulOptimizer
from tanks import SENSORS, Tank


@dataclass(frozen=True)
class Settings:
    batches: int = 500
    batch_size: int = 12
    width: int = 24
    lr: float = 0.02
    log_every: int = 50


def build(settings):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(SENSORS, settings.width), nn.ReLU(), nn.Linear(settings.width, 1))


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    settings = Settings()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = DistributedDataParallel(build(settings))
    careful = CarefulOptimizer(model, settings.lr)
    tank = Tank(rank, settings.batches, settings.batch_size)
    total = 0.0
    for number, (sensors, alcohol) in enumerate(DataLoader(tank, settings.batch_size)):
        total += careful.step(sensors, alcohol)
        if (number + 1) % settings.log_every == 0:
            if rank == 0:
                logging.info("batch %d: mean loss %.4f", number + 1, total / settings.log_every)
            total = 0.0
    dist.barrier()
    logging.info("tank %d: %d steps taken back", rank, careful.taken_back)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
