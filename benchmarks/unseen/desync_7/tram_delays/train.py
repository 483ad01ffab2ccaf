"""Predicts the delay of trams at their next stop."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader

from delays import FEATURES, Depot
from trainer import Trainer


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--stops", type=int, default=960, help="of a depot and an epoch")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--window", type=int, default=30, help="batches that are looked back at")
    parser.add_argument("--enough", type=float, default=0.12, help="loss at which an epoch is over")
    return parser.parse_args()


def main():
    options = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(3)
    dist.init_process_group("gloo")
    network = nn.Sequential(
        nn.Linear(FEATURES, options.hidden),
        nn.Tanh(),
        nn.Linear(options.hidden, 1),
    )
    depot = Depot(dist.get_rank(), options.stops)
    loader = DataLoader(depot, batch_size=options.batch)
    Trainer(network, loader, options).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
