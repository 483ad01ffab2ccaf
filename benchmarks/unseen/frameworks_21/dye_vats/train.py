"""Shades of dyed wool from the recipe of the vat, with DeepSpeed on CPUs."""

import argparse
import itertools
import logging
import time

import deepspeed
import torch
from torch import nn
from torch.utils.data import DataLoader

from report import COMMS_LOGGER, TrafficReport
from vats import INGREDIENTS, SHADE, Vats


def make_config(args):
    return {
        "train_micro_batch_size_per_gpu": args.batch,
        "gradient_accumulation_steps": 1,
        "zero_optimization": {"stage": 0},
        "comms_logger": COMMS_LOGGER,
        "steps_per_print": 10_000,
    }


class ShadeModel(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(INGREDIENTS, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, SHADE)
        )

    def forward(self, recipe, shade):
        return nn.functional.mse_loss(self.net(recipe), shade)


class DyeWorks:
    def __init__(self, args):
        self.args = args
        torch.manual_seed(args.seed)
        model = ShadeModel(args.width)
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        self.engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=make_config(args))
        self.loader = DataLoader(Vats(self.engine.global_rank), args.batch)
        self.report = TrafficReport(args.report)

    def run(self):
        for step, (recipe, shade) in enumerate(itertools.islice(self.loader, self.args.steps), start=1):
            loss = self.engine(recipe, shade)
            self.engine.backward(loss)
            self.engine.step()
            time.sleep(0.03)
            self.report.after_step(step, loss.item())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--report", type=int, default=150)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--local_rank", type=int, default=-1)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    deepspeed.init_distributed(dist_backend="gloo")
    DyeWorks(args).run()
    deepspeed.comm.barrier()


if __name__ == "__main__":
    main()
