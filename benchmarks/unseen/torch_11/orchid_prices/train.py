"""Prices of orchids at auctions. Each rank reads the lots of one auction house, however many there are."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from auctions import Auctions

log = logging.getLogger("orchids")
LOTS = (1600, 4800, 2000)


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        self.loader = DataLoader(Auctions(self.rank, LOTS[self.rank], args.features), batch_size=args.batch)
        torch.manual_seed(2)
        network = nn.Sequential(nn.Linear(args.features, 40), nn.GELU(), nn.Linear(40, 1))
        self.model = DDP(network)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr)

    def train_epoch(self):
        total, steps = 0.0, 0
        with Join([self.model]):
            for lot, price in self.loader:
                loss = nn.functional.mse_loss(self.model(lot), price)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item()
                steps += 1
        return total, steps

    def fit(self):
        for epoch in range(self.args.epochs):
            total, steps = self.train_epoch()
            both = torch.tensor([total, float(steps)], dtype=torch.float64)
            dist.all_reduce(both)
            if self.rank == 0:
                log.info("epoch %d: %d batches, loss %.4f", epoch, int(both[1]), both[0] / both[1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--features", type=int, default=12)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.02)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Trainer(options).fit()
    dist.barrier()
    dist.destroy_process_group()
