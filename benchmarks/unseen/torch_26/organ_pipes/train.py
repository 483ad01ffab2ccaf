"""Pitch of organ pipes from their measures; every process reads the cards of one workshop."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from guards import timed, tolerant
from workshop import CardBatches, parse

log = logging.getLogger("organ")


class Voicer:
    """Trains the network for one pass after the other and reports the errors of all workshops."""

    def __init__(self, lr, pause):
        torch.manual_seed(3)
        self.network = DDP(nn.Sequential(nn.Linear(4, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1)))
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=lr)
        self.pause = pause

    @timed
    @tolerant(ValueError, ZeroDivisionError, fallback=0.0)
    def fit_batch(self, lines):
        measures, pitch = parse(lines)
        error = nn.functional.smooth_l1_loss(self.network(measures)[:, 0], pitch)
        self.optimizer.zero_grad()
        error.backward()
        self.optimizer.step()
        time.sleep(self.pause)
        return error.item()

    def run(self, batches):
        total = 0.0
        for lines in batches:
            total += self.fit_batch(lines)
        return {"error": total / len(batches), "seconds": type(self).fit_batch.seconds}


def report(number, own):
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, own)
    if dist.get_rank() == 0:
        errors = " ".join(f"{entry['error']:.3f}" for entry in everyone)
        slowest = max(entry["seconds"] for entry in everyone)
        log.info("pass %d: errors %s, %.1f s", number, errors, slowest)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--batches", type=int, default=110)
    parser.add_argument("--size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--pause", type=float, default=0.03)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    logging.basicConfig(level=logging.INFO, format=f"organ {dist.get_rank()}: %(message)s")
    batches = CardBatches(dist.get_rank(), args.batches, args.size)
    voicer = Voicer(args.lr, args.pause)
    for number in range(args.passes):
        report(number, voicer.run(batches))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
