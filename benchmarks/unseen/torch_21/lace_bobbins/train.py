"""Judges bobbin lace by its moves: a recurrent network under DDP, one book of patterns per process."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from patterns import Batches, Pricking
from prefetch import Prefetch


class Judge(nn.Module):
    def __init__(self, bobbins, width):
        super().__init__()
        self.bobbin = nn.Embedding(bobbins, width)
        self.read = nn.GRU(width, width, batch_first=True)
        self.quality = nn.Linear(width, 1)

    def forward(self, sequence):
        states, _ = self.read(self.bobbin(sequence))
        return self.quality(states.mean(1)).squeeze(1)


class Trainer:
    def __init__(self, args):
        self.args = args
        self.log = logging.getLogger("lace")
        torch.manual_seed(args.seed)
        self.model = DistributedDataParallel(Judge(args.bobbins, args.width))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        book = Pricking(dist.get_rank(), args.patterns, args.moves, args.bobbins)
        self.batches = Batches(book, args.batch)

    def step(self, sequence, quality):
        loss = nn.functional.mse_loss(self.model(sequence), quality)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.detach()

    def epoch(self, number):
        total = torch.zeros(())
        with Prefetch(self.batches, self.args.depth) as batches:
            for sequence, quality in batches:
                total += self.step(sequence, quality)
                time.sleep(0.02)
        dist.all_reduce(total)
        mean = total.item() / len(self.batches) / dist.get_world_size()
        self.log.info("epoch %d loss %.4f, %.2f s without data", number, mean, batches.starved)

    def fit(self):
        for number in range(self.args.epochs):
            self.epoch(number)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--patterns", type=int, default=4800)
    parser.add_argument("--moves", type=int, default=24)
    parser.add_argument("--bobbins", type=int, default=40)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    logging.basicConfig(level=logging.INFO if dist.get_rank() == 0 else logging.WARNING)
    Trainer(args).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
