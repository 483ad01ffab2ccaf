"""Finds blasts among blood cells; DDP over the slides of several laboratories."""

import argparse
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from board import Board, figures
from cells import MEASURES, slides_of


def options(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--slides", type=int, default=600)
    parser.add_argument("--post-every", type=int, default=5)
    parser.add_argument("--hidden", type=int, default=24)
    parser.add_argument("--lr", type=float, default=0.03)
    return parser.parse_args(arguments)


def build(hidden):
    torch.manual_seed(77)
    return DDP(nn.Sequential(nn.Linear(MEASURES, hidden), nn.GELU(), nn.Linear(hidden, 1), nn.Flatten(0)))


def train(model, loader, board, opts):
    optimizer = torch.optim.SGD(model.parameters(), lr=opts.lr, momentum=0.9)
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0))
    for step, (cells, label) in enumerate(loader):
        logits = model(cells)
        loss = criterion(logits, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % opts.post_every == 0:
            board.post(step, figures(logits.detach(), label, loss.item()))


def main(arguments):
    opts = options(arguments)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    board = Board()
    loader = slides_of(dist.get_rank(), opts.slides)
    train(build(opts.hidden), loader, board, opts)
    history = board.collect()
    dist.barrier()
    if dist.get_rank() == 0:
        for name, curve in history.items():
            print(f"{name}: {curve[0][1]:.3f} -> {curve[-1][1]:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1:])
