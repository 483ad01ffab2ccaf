"""Colours of glazes (FSDP2). A batch that the model finds hard is gone through again."""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from glazes import HOURS, OXIDES, Firings, Running


def build(width=32):
    torch.manual_seed(12)
    model = nn.Sequential(
        nn.Sequential(nn.Linear(OXIDES + HOURS, width), nn.Tanh()),
        nn.Sequential(nn.Linear(width, width), nn.Tanh()),
        nn.Linear(width, 3),
    )
    for layer in model:
        fully_shard(layer)
    return fully_shard(model)


class Potter:
    def __init__(self, args):
        self.args = args
        self.model = build()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.running = Running()
        self.repeated = 0

    def step(self, firing, colour):
        self.optimizer.zero_grad()
        predicted = self.model(firing)
        loss = nn.functional.smooth_l1_loss(predicted, colour)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def learn(self, firing, colour):
        """One step, and another one if the loss was far from what it usually is."""
        loss = self.step(firing, colour)
        hard = self.running.seen > 20 and loss > self.args.hard * self.running.mean
        if hard:
            self.repeated += 1
            again = self.step(firing, colour)
            loss = min(loss, again)
        else:
            self.running.add(loss)
        return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=460)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--hard", type=float, default=20.0, help="how many times the usual loss")
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    potter, firings = Potter(args), Firings(rank, args.batch)
    start = time.time()
    for number in range(args.batches):
        loss = potter.learn(*next(firings))
        if rank == 0 and number % 40 == 0:
            print(f"{time.time() - start:.0f} s: batch {number}, {loss:.4f}", flush=True)
    counts = torch.tensor([potter.repeated])
    dist.all_reduce(counts)
    if rank == 0:
        print(f"{counts.item()} batches were gone through again", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
