"""Search for the best recipe by successive halving, one process per recipe."""
import argparse
import logging
import math
import time

import torch
import torch.distributed as dist
from torch import nn

from recipes import RECIPES, build, samples
from rungs import Field, ladder

log = logging.getLogger("varnish")


class Withdrawn(Exception):
    """The recipe has failed; there is nothing to be compared any more."""


class Contestant:
    def __init__(self, recipe, batch, pause):
        self.recipe = recipe
        self.net, self.optimizer = build(recipe)
        self.train_data = samples(1500, seed=3)
        self.check_data = samples(300, seed=4)
        self.batch = batch
        self.pause = pause
        self.g = torch.Generator().manual_seed(17)

    def train(self, rung):
        x, gloss = self.train_data
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.lr * self.recipe.growth ** rung.number
        for step in range(rung.steps):
            pick = torch.randint(0, len(x), (self.batch,), generator=self.g)
            loss = nn.functional.mse_loss(self.net(x[pick])[:, 0], gloss[pick])
            if not math.isfinite(loss.item()):
                raise Withdrawn(f"{self.recipe.name} has diverged in step {step} of rung {rung.number}")
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(self.pause)

    @torch.no_grad()
    def error(self):
        x, gloss = self.check_data
        return nn.functional.mse_loss(self.net(x)[:, 0], gloss).item()


def compete(args, rank, field):
    contestant = Contestant(RECIPES[rank], args.batch, args.pause)
    for rung in ladder(args.first_steps, args.drops):
        try:
            contestant.train(rung)
        except Withdrawn as reason:
            log.warning("%s", reason)
            return None
        field.gather_for(rung)
        scores = field.compare(contestant.error())
        dropped = field.cut(rung.drop)
        if rank == field.members[0]:
            log.info("rung %d: %s; out: %s", rung.number,
                     ", ".join(f"{RECIPES[m].name} {s:.4f}" for m, s in scores.items()),
                     ", ".join(RECIPES[m].name for m in dropped) or "none")
        if rank not in field:
            log.info("%s drops out in rung %d", contestant.recipe.name, rung.number)
            return None
    return contestant


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--first-steps", type=int, default=120)
    parser.add_argument("--drops", type=int, nargs="+", default=[0, 1, 1])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--pause", type=float, default=0.015)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    winner = compete(args, rank, Field(dist.get_world_size()))
    if winner is not None:
        log.info("%s is left with an error of %.4f", winner.recipe.name, winner.error())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
