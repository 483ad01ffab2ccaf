"""Search for a training recipe by successive halving, one candidate for each process.

A candidate that is eliminated gives its cores back at once; the best one writes its weights at the end.
"""
import argparse
import logging
import os
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn

from glazes import GlazeModel, Glazes, error
from halving import Rung

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("kiln")


@dataclass(frozen=True)
class Recipe:
    lr: float
    dropout: float
    batch: int


RECIPES = (
    Recipe(lr=0.02, dropout=0.0, batch=16),
    Recipe(lr=0.01, dropout=0.05, batch=16),
    Recipe(lr=0.01, dropout=0.9, batch=32),
)


class Candidate:
    def __init__(self, recipe, glazes):
        self.recipe, self.glazes = recipe, glazes
        torch.manual_seed(8)
        self.model = GlazeModel(recipe.dropout)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=recipe.lr)
        self.generator = torch.Generator().manual_seed(3)

    def epoch(self):
        for oxides, colour in self.glazes.batches(self.recipe.batch, self.generator):
            loss = nn.functional.mse_loss(self.model(oxides), colour)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.01)
        return error(self.model, self.glazes)


def compete(candidate, rung, epochs, finalists):
    """Rungs until the finalists have run theirs. Returns the last rung and its standings, or nothing if eliminated."""
    while True:
        for _ in range(epochs):
            loss = candidate.epoch()
            rung.average(candidate.model.encoder.parameters())
        standings = rung.standings(loss)
        log.info("%r, process %d: loss %.4f", rung, dist.get_rank(), loss)
        if len(rung.members) <= finalists:
            return rung, standings
        rung = rung.next(standings)
        if rung is None:
            return None
        epochs *= 2


def write(candidate, path):
    torch.save(candidate.model.state_dict(), path)
    log.info("%s is in %s", candidate.recipe, path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4, help="epochs of the first rung")
    parser.add_argument("--finalists", type=int, default=2)
    parser.add_argument("--output", default=os.devnull)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    candidate = Candidate(RECIPES[rank], Glazes())
    outcome = compete(candidate, Rung(list(range(world))), args.epochs, args.finalists)
    if outcome is None:
        log.info("%s is eliminated", candidate.recipe)
        return
    rung, standings = outcome
    dist.barrier()
    if rank == rung.leader(standings):
        write(candidate, args.output)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
