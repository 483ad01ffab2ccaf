"""Elasticities of ferry passengers by gossip between five harbours; no gradients are exchanged, only weights."""

import argparse
import logging
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist

from demand import Harbour, least_squares_step
from exchange import Exchange

log = logging.getLogger("ferry")


def shared_directory():
    names = [tempfile.mkdtemp(prefix="ferry_")] if dist.get_rank() == 0 else [None]
    dist.broadcast_object_list(names)
    return names[0]


def weekly(harbour, exchange, args):
    weights = torch.zeros(5)
    for week in range(args.weeks):
        features, passengers, fuel = harbour.week(week)
        weights, error = least_squares_step(weights, features, passengers)
        exchange.publish(weights)
        weights = exchange.mixed(weights)
        if abs(fuel) > args.shock:
            refitted = weights
            for _ in range(args.refits):
                refitted, error = least_squares_step(refitted, features, passengers)
            exchange.publish(refitted)
            weights = refitted
        if week % 50 == 0:
            log.info("week %d: error %.4f, waited %.1f s", week, error, exchange.waited)
    return weights, error


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weeks", type=int, default=500)
    parser.add_argument("--shock", type=float, default=15.0, help="change of fuel after which fares are fitted anew")
    parser.add_argument("--refits", type=int, default=20)
    args = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(asctime)s %(message)s")
    directory = shared_directory()
    exchange = Exchange(directory, rank, dist.get_world_size())
    weights, error = weekly(Harbour(rank), exchange, args)

    errors = torch.tensor([error])
    dist.all_reduce(errors)
    log.info("mean error %.4f, %d publications", errors.item() / dist.get_world_size(), exchange.published)
    exchange.path(rank).unlink()
    dist.barrier()
    if rank == 0:
        Path(directory).rmdir()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
