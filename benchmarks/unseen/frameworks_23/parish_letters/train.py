"""A language model of parish letters: DDP, and a data pipeline of torchdata nodes with one parish per process."""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from nodes import SIGNS, build_loader

log = logging.getLogger("letters")


class Scribe(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.embed = nn.Embedding(SIGNS, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, SIGNS)

    def forward(self, signs):
        hidden, _ = self.rnn(self.embed(signs))
        return self.out(hidden)


class Run:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        self.loader = build_loader(self.rank, args.letters, args.window, args.batch)
        self.model = DistributedDataParallel(Scribe())
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)

    def learn(self, window):
        logits = self.model(window[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def epoch(self, number):
        losses = []
        for window in self.loader:
            losses.append(self.learn(window))
            time.sleep(0.02)
        self.report(number, {"parish": self.rank, "loss": sum(losses[-20:]) / 20, "batches": len(losses)})

    def report(self, number, own):
        everybody = [None] * dist.get_world_size()
        dist.all_gather_object(everybody, own)
        if self.rank == 0:
            for line in everybody:
                log.info("epoch %d: %s", number, line)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--letters", type=int, default=120)
    parser.add_argument("--window", type=int, default=32)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    run = Run(args)
    for number in range(args.epochs):
        run.epoch(number)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
