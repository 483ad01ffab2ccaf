"""Tells ships from boats by their noise; three hydrophones, one process each."""

import logging
import random
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

from average import BackgroundAverage

log = logging.getLogger("noise")


@dataclass
class Options:
    steps: int = 500
    batch: int = 10
    bands: int = 30
    lr: float = 0.02
    average_from: int = 110
    average_every: int = 12


class Noise(Dataset):
    def __init__(self, hydrophone, options):
        self.hydrophone, self.options = hydrophone, options
        self.load = random.Random(hydrophone)

    def __len__(self):
        return self.options.steps * self.options.batch

    def __getitem__(self, index):
        time.sleep(0.006 + 0.001 * self.load.random())
        generator = torch.Generator().manual_seed(31 * index + self.hydrophone)
        ship = index % 3 == 0
        spectrum = torch.randn(self.options.bands, generator=generator)
        spectrum[:8] += 1.2 if ship else -0.4
        return spectrum, float(ship)


def train(options, rank):
    torch.manual_seed(8)
    network = nn.Sequential(nn.Linear(options.bands, 24), nn.SiLU(), nn.Linear(24, 1))
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr)
    average = BackgroundAverage(network, options.average_every, options.average_from, sketch=rank == 0)
    loader = DataLoader(Noise(rank, options), options.batch)
    for number, (spectrum, ship) in enumerate(loader):
        logits = model(spectrum).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, ship.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.step(number)
        if number % 60 == 0:
            log.info("step %d: %.3f", number, loss.item())
    slow = average.close()
    dist.barrier()
    return slow


def main():
    torch.set_num_threads(1)
    options = Options()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(asctime)s %(message)s")
    slow = train(options, rank)
    log.info("norm of the slow weights: %.3f", slow.norm())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
