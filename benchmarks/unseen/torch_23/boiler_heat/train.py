"""Heat demand of houses from the weather, one house per process (DDP)."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from houses import House, firing_error
from schedule import Plateau, PlateauConfig


def build(width):
    return nn.Sequential(nn.Linear(5, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))


class Trainer:
    def __init__(self, house, args):
        self.house = house
        self.args = args
        torch.manual_seed(args.seed)
        self.network = DistributedDataParallel(build(args.width))
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=args.lr)
        self.plateau = Plateau(self.optimizer, PlateauConfig(patience=args.patience))
        self.g = torch.Generator().manual_seed(args.seed + dist.get_rank())

    def train_epoch(self):
        self.network.train()
        for weather, heat, firing in self.house.batches(self.args.batch, self.g):
            loss = firing_error(self.network(weather)[:, 0], heat, firing)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.01)

    @torch.no_grad()
    def validate(self):
        self.network.eval()
        weather, heat, firing = self.house.validation()
        return firing_error(self.network.module(weather)[:, 0], heat, firing).item()

    def fit(self):
        for epoch in range(self.args.epochs):
            self.train_epoch()
            error = self.validate()
            self.plateau.update(error)
            if dist.get_rank() == 0:
                print(f"epoch {epoch}: error {error:.4f}, rate {self.plateau.rate:.1e}", flush=True)
            if self.plateau.exhausted:
                break
        return self.plateau.summary()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--batch", type=int, default=72)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--patience", type=int, default=1)
    parser.add_argument("--seed", type=int, default=8)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    trainer = Trainer(House(dist.get_rank()), args)
    summary = trainer.fit()
    summaries = [None] * dist.get_world_size()
    dist.all_gather_object(summaries, summary)
    if dist.get_rank() == 0:
        for number, entry in enumerate(summaries):
            print(f"house {number}: {entry}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
