"""Rates of three tower clocks by local SGD: every clock trains on its own readings, then the weights are averaged.

The clocks have different numbers of readings in a round. A round is over for a clock when it has told so in the
store; before the weights are averaged, everybody waits there for the others.
"""
import argparse
import datetime
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from movement import Clock
from tower import Journal, calibrate

log = logging.getLogger("clocks")


class Rounds:
    """Announcements of the clocks in a store beside the job's own one."""

    def __init__(self, store, rank, world):
        self.store, self.rank, self.world = store, rank, world

    def finish(self, number, steps):
        self.store.set(f"round/{number}/{self.rank}", str(steps))

    def wait(self, number):
        """Polls, because a clock may be in its calibration for much longer than a store is patient."""
        keys = [f"round/{number}/{rank}" for rank in range(self.world)]
        while not self.store.check(keys):
            time.sleep(0.1)
        return [int(self.store.get(key)) for key in keys]


def average(model, shares):
    weights = parameters_to_vector(model.parameters()).detach() * shares[dist.get_rank()] / sum(shares)
    dist.all_reduce(weights)
    vector_to_parameters(weights, model.parameters())


def local_round(model, optimizer, clock, factor, pace):
    steps = 0
    for x, rate in clock.readings():
        loss = nn.functional.mse_loss(model(x)[:, 0], factor * rate)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
        time.sleep(pace)
    return steps, loss.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--pace", type=float, default=0.05)
    parser.add_argument("--calibrate-after", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=10))
    rank, world = dist.get_rank(), dist.get_world_size()
    rounds = Rounds(dist.PrefixStore("clocks", dist.distributed_c10d._get_default_store()), rank, world)
    clock, factor = Clock(rank), 1.0
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(clock.features, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    journal = Journal(seconds_per_line=1.2)
    if rank == 2:
        journal.start()
    for number in range(args.rounds):
        steps, loss = local_round(model, optimizer, clock, factor, args.pace)
        if rank == 1 and number == args.calibrate_after:
            factor = calibrate()
        rounds.finish(number, steps)
        shares = rounds.wait(number)
        average(model, shares)
        journal.lines.put(f"round {number}: {clock.name} {loss:.4f}")
        if rank == 0:
            log.info("round %d: steps %s, loss %.4f", number, shares, loss)
    journal.lines.put(None)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
