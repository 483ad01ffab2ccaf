"""Recognises frogs by their calls; each process listens to a pond."""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from calls import BANDS, SPECIES, make_loader

log = logging.getLogger("frogs")
# hours in which the recorder ran without its microphone
STILL = {0: [210], 1: [388, 611], 2: []}


class Ear(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(
            nn.LayerNorm(BANDS), nn.Linear(BANDS, width), nn.ReLU(), nn.Linear(width, SPECIES)
        )

    def forward(self, bands):
        return self.layers(bands)


class Trainer:
    def __init__(self, args, rank):
        self.args = args
        self.rank = rank
        self.model = DistributedDataParallel(Ear(args.width))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)

    def run_epoch(self, loader):
        total, steps = 0.0, 0
        for bands, species in loader:
            loss = nn.functional.cross_entropy(self.model(bands), species)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
            steps += 1
            time.sleep(0.02)
        return total / steps

    def fit(self, loader):
        for epoch in range(self.args.epochs):
            value = torch.tensor(self.run_epoch(loader))
            dist.all_reduce(value)
            if self.rank == 0:
                log.info("epoch %d: %.4f", epoch, value.item() / dist.get_world_size())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=960)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(2)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    trainer = Trainer(args, rank)
    trainer.fit(make_loader(rank, args.calls, args.batch, STILL.get(rank, [])))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
