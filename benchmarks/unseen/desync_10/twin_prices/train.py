"""Asking and paid prices of flats: one network for each."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from flats import FEATURES, Flats

log = logging.getLogger("prices")


def network(width):
    return nn.Sequential(nn.Linear(FEATURES, width), nn.ReLU(), nn.Linear(width, 1))


class Valuation:
    def __init__(self, options):
        torch.manual_seed(2)
        self.asking = DistributedDataParallel(network(24))
        self.paid = DistributedDataParallel(network(24))
        self.asking_optimizer = torch.optim.Adam(self.asking.parameters(), lr=options.lr)
        self.paid_optimizer = torch.optim.Adam(self.paid.parameters(), lr=options.lr / 2)
        self.totals = torch.zeros(2)

    def fit_asking(self, flat, price):
        error = self.asking(flat).squeeze(1) - price
        loss = error.square().mean()
        self.asking_optimizer.zero_grad()
        loss.backward()
        self.asking_optimizer.step()
        self.totals[0] += loss.item()

    def fit_paid(self, flat, price, sold):
        """Only flats that were sold have a price that was paid."""
        known = sold.nonzero().squeeze(1)
        if len(known):
            error = self.paid(flat[known]).squeeze(1) - price[known]
            loss = nn.functional.huber_loss(error, torch.zeros_like(error))
            self.paid_optimizer.zero_grad()
            loss.backward()
            self.paid_optimizer.step()
            self.totals[1] += loss.item()

    def fit(self, batch):
        flat, asked, paid, sold = batch
        self.fit_asking(flat, asked)
        self.fit_paid(flat, paid, sold)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--flats", type=int, default=3_720)
    parser.add_argument("--batch", type=int, default=6)
    parser.add_argument("--lr", type=float, default=3e-3)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    valuation = Valuation(options)
    loader = DataLoader(Flats(dist.get_rank(), options.flats), batch_size=options.batch)
    for number, batch in enumerate(loader, 1):
        valuation.fit(batch)
        if number % 80 == 0 and dist.get_rank() == 0:
            log.info("%d: %s", number, [round(v, 3) for v in (valuation.totals / number).tolist()])
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
