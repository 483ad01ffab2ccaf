"""Forecast of the yield of apple orchards; every process has the orchards of one valley."""
import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from callbacks import default_callbacks
from trainer import Trainer

# unexplained part of the yield, by valley: hail, and who counts the boxes
SCATTER = [0.35, 0.05, 0.30]


def orchards(valley, count, seed):
    g = torch.Generator().manual_seed(seed * 31 + valley)
    trees = torch.randn(count, 6, generator=g)
    y = 0.6 * trees[:, 0] - 0.4 * trees[:, 1] + 0.3 * trees[:, 2].tanh()
    return trees, y + SCATTER[valley % len(SCATTER)] * torch.randn(count, generator=g)


def build_model(width):
    return nn.Sequential(nn.Linear(6, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1))


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--goal", type=float, default=0.16, help="rmse of the contract")
    return parser.parse_args()


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(7)
    trees, boxes = orchards(rank, 960, seed=1)
    loader = DataLoader(TensorDataset(trees, boxes), batch_size=args.batch, shuffle=True, drop_last=True)
    trainer = Trainer(build_model(args.width), args.lr, args.epochs, default_callbacks(args.goal))
    trainer.fit(loader, orchards(rank, 300, seed=2))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
