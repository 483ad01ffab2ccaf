"""Outcome of court sessions from their minutes: a bag-of-words network with attention under DDP."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from accumulate import Accumulator, WordBudget
from minutes import OUTCOMES, WORDS, registry

logger = logging.getLogger("court")


class SessionReader(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width)
        self.weight = nn.Linear(width, 1)
        self.judge = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, OUTCOMES))

    def forward(self, words):
        x = self.embed(words)
        share = self.weight(x).softmax(dim=1)
        return self.judge((share * x).sum(1))


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--sessions", type=int, default=320)
    parser.add_argument("--window-words", type=int, default=192)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--read-seconds", type=float, default=0.025, help="time to read a session from the archive")
    return parser.parse_args()


def run_epoch(args, epoch, network, accumulator, data):
    criterion = nn.CrossEntropyLoss()
    total = 0.0
    for index, (words, outcome) in enumerate(data):
        time.sleep(args.read_seconds)
        total += accumulator.backward(
            lambda: criterion(network(words), outcome),
            words=words.shape[1],
            last=index == len(data) - 1,
        )
    return total / len(data)


def report(epoch, loss, accumulator):
    """Losses of the courts differ a lot, so they are listed one by one."""
    rows = [None] * dist.get_world_size()
    dist.all_gather_object(rows, (loss, accumulator.updates))
    if dist.get_rank() == 0:
        for court, (value, updates) in enumerate(rows):
            logger.info("epoch %d court %d: loss %.4f after %d updates", epoch, court, value, updates)


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(8)
    network = DistributedDataParallel(SessionReader())
    optimizer = torch.optim.Adam(network.parameters(), lr=args.lr)
    accumulator = Accumulator(network, optimizer, WordBudget(args.window_words))
    data = registry(dist.get_rank(), args.sessions)
    for epoch in range(args.epochs):
        loss = run_epoch(args, epoch, network, accumulator, data)
        report(epoch, loss, accumulator)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
