"""Pollen forecast from the weather, trained on all traps together.

The traps have different numbers of samples. No sample is thrown away: `Join` lets the processes that are
through answer for the reductions of those that are not.
"""
import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from hooks import Pace, Snapshots
from traps import KINDS, Trap, held_out


class Trainer:
    def __init__(self, options, hooks):
        self.options = options
        self.hooks = hooks
        torch.manual_seed(0)
        self.model = DDP(nn.Sequential(nn.Linear(18, options.width), nn.GELU(), nn.Linear(options.width, len(KINDS))))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=options.lr)
        self.criterion = nn.PoissonNLLLoss(log_input=True)
        shuffle = torch.Generator().manual_seed(dist.get_rank())
        self.loader = DataLoader(Trap(dist.get_rank()), options.batch, shuffle=True, generator=shuffle)

    def notify(self, event, *arguments):
        for hook in self.hooks:
            getattr(hook, event)(self, *arguments)

    def epoch(self):
        with Join([self.model]):
            for step, (weather, counts) in enumerate(self.loader, start=1):
                self.optimizer.zero_grad()
                self.criterion(self.model(weather), counts).backward()
                self.optimizer.step()
                self.notify("after_step", step)

    @torch.no_grad()
    def validate(self):
        weather, counts = held_out()
        return self.criterion(self.model.module(weather), counts).item()

    def fit(self):
        self.notify("begin")
        for epoch in range(self.options.epochs):
            self.epoch()
            loss = self.validate()
            if dist.get_rank() == 0:
                print(f"epoch {epoch} held-out loss {loss:.4f}", flush=True)
        self.notify("end")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--snapshot-every", type=int, default=40)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Trainer(options, [Pace(0.02), Snapshots(options.snapshot_every)]).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
