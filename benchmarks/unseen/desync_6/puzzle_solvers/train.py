"""Levels of puzzles from the moves of their players; four regions, one process each."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from budget import HintBudget
from puzzles import LEVELS, MOVES, games_of

log = logging.getLogger("puzzles")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--games", type=int, default=1_440)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--hints", type=int, default=1_800, help="hints in an epoch")
    parser.add_argument("--lr", type=float, default=0.02)
    return parser.parse_args()


def run_epoch(model, optimizer, games, budget):
    budget.start()
    total, batches = 0.0, 0
    for moves, levels, hints in games:
        loss = nn.functional.cross_entropy(model(moves), levels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, batches = total + loss.item(), batches + 1
        budget.spend(hints)
        if budget.spent:
            break
    return total / batches, batches


def main():
    args = parse()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(asctime)s %(message)s")
    torch.manual_seed(19)
    network = nn.Sequential(nn.Linear(MOVES, 32), nn.ReLU(), nn.Linear(32, LEVELS))
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    games, budget = games_of(rank, args.games, args.batch), HintBudget(args.hints)
    for epoch in range(args.epochs):
        loss, batches = run_epoch(model, optimizer, games, budget)
        log.info("epoch %d: %d batches, loss %.3f", epoch, batches, loss)
    dist.barrier()
    log.info("all epochs done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
