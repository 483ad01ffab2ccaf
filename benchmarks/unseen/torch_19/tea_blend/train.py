"""Marks of tea blends from the shares of their leaves, with a model that is sharded over all processes."""
import argparse
import logging
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn

from blend import Taster, sharded_taster
from progress import Progress


@dataclass
class Recipe:
    leaves: int = 24
    width: int = 64
    depth: int = 2
    batch: int = 32
    steps: int = 150
    lr: float = 2e-3
    warmup: int = 10
    max_norm: float = 1.0
    log_every: int = 30


class Pantry:
    """Blends without end: shares that add up to one, and marks by a fixed panel."""

    def __init__(self, recipe, rank):
        self.recipe = recipe
        self.random = torch.Generator().manual_seed(200 + rank)
        panel = torch.Generator().manual_seed(3)
        self.taste = torch.randn(recipe.leaves, len(Taster.marks), generator=panel)
        self.pairs = torch.randn(recipe.leaves, recipe.leaves, generator=panel) / recipe.leaves

    def __iter__(self):
        while True:
            raw = torch.rand(self.recipe.batch, self.recipe.leaves, generator=self.random).pow(3)
            shares = raw / raw.sum(1, keepdim=True)
            marks = shares @ self.taste + (shares @ self.pairs * shares).sum(1, keepdim=True)
            yield shares * self.recipe.leaves, marks


def train(recipe):
    rank, world = dist.get_rank(), dist.get_world_size()
    model = sharded_taster(recipe.leaves, recipe.width, recipe.depth, world)
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.lr)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / recipe.warmup))
    progress = Progress(main=rank == 0, every=recipe.log_every)
    torch.manual_seed(rank)

    for step, (shares, marks) in enumerate(Pantry(recipe, rank)):
        if step == recipe.steps:
            break
        loss = nn.functional.smooth_l1_loss(model(shares), marks)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), recipe.max_norm)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        head = torch.linalg.vector_norm(model.head.weight.detach())
        progress.step(loss.detach(), lr=schedule.get_last_lr()[0], head=head)
        time.sleep(0.01)

    dist.barrier()
    return progress.loss


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=Recipe.steps)
    parser.add_argument("--log-every", type=int, default=Recipe.log_every)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    train(Recipe(steps=args.steps, log_every=args.log_every))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
