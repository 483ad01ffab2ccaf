"""How dense a kelp canopy is, from a boat's instruments: one boat's log per process, with Accelerate."""

import argparse
import itertools
import time
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn

from feed import COLUMNS, Feed


@dataclass
class Plan:
    steps: int
    report: int
    lr: float
    clip: float = 1.0


class Canopy(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(len(COLUMNS) - 1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.body(x)).squeeze(-1)


class Survey:
    def __init__(self, accelerator, plan):
        self.accelerator = accelerator
        self.plan = plan
        model = Canopy()
        self.model, self.optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=plan.lr))

    def step(self, features, canopy):
        loss = nn.functional.smooth_l1_loss(self.model(features), canopy)
        self.accelerator.backward(loss)
        self.accelerator.clip_grad_norm_(self.model.parameters(), self.plan.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def run(self, feed):
        recent = []
        for n, (features, canopy) in enumerate(itertools.islice(feed, self.plan.steps), 1):
            recent.append(self.step(features, canopy))
            time.sleep(0.02)
            if n % self.plan.report == 0:
                mean = self.accelerator.reduce(torch.stack(recent).mean(), "mean")
                self.accelerator.print(f"step {n}: {mean.item():.4f}", flush=True)
                recent.clear()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=4000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(9)
    accelerator = Accelerator(cpu=True)
    feed = Feed(accelerator.process_index, args.lines, args.batch)
    survey = Survey(accelerator, Plan(args.steps, report=50, lr=args.lr))
    feed.start()
    survey.run(feed)
    accelerator.end_training()


if __name__ == "__main__":
    main()
