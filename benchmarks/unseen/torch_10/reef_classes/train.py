"""Regression of coral cover from transect descriptors."""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

from evaluation import evaluate

GENERA = ("Acropora", "Favites", "Montipora", "Pavona", "Porites")
logger = logging.getLogger("reef")


def transects(count, seed):
    """The last quarter comes from the inner lagoon, where only three of the five genera grow."""
    g = torch.Generator().manual_seed(seed)
    genus = torch.randint(len(GENERA), (count,), generator=g)
    lagoon = torch.arange(count) >= count - count // 4
    genus[lagoon] = genus[lagoon] % 3
    x = torch.randn(count, 18, generator=g)
    cover = torch.sigmoid(x[:, :5].sum(1) + 0.2 * genus)
    return TensorDataset(x, cover, genus)


def build(width, dropout):
    return nn.Sequential(
        nn.Linear(18, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)
    )


class Experiment:
    def __init__(self, args):
        self.args = args
        self.rank, world = dist.get_rank(), dist.get_world_size()
        torch.manual_seed(args.seed)
        self.model = DistributedDataParallel(build(args.width, args.dropout))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
        train_set, held_out = transects(1200, 1), transects(400, 2)
        self.sampler = DistributedSampler(train_set, seed=args.seed)
        self.train_loader = DataLoader(train_set, args.batch_size, sampler=self.sampler)
        # one piece of the reef per rank, so that the maps of neighboring transects stay together
        share = len(held_out) // world
        piece = Subset(held_out, range(self.rank * share, (self.rank + 1) * share))
        self.held_out_loader = DataLoader(piece, batch_size=50)

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        for x, cover, _ in self.train_loader:
            loss = nn.functional.mse_loss(self.model(x).squeeze(1).sigmoid(), cover)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.03)

    def run(self):
        for epoch in range(self.args.epochs):
            self.train_epoch(epoch)
            if (epoch + 1) % self.args.eval_every == 0:
                table = evaluate(self.model.module, self.held_out_loader, GENERA)
                dist.barrier()
                if self.rank == 0:
                    logger.info("epoch %d %s", epoch, " ".join(f"{k}={v:.3f}" for k, v in table.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--eval-every", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=12)
    parser.add_argument("--width", type=int, default=40)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=4)
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Experiment(parser.parse_args()).run()
    dist.destroy_process_group()
