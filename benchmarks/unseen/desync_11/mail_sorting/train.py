"""Sorting offices average their weights through a board, without sending a tensor."""

import argparse

import torch
import torch.distributed as dist

from board import Board
from journal import Journal
from office import FEATURES, Office


def prepare(rank, world):
    board = Board(world, FEATURES)
    if rank == 0:
        board.create()
    dist.barrier()  # the file is there
    board.open()
    return board


def work(office, board, journal, days, share):
    smooth = None
    for day in range(days):
        x, y, unreadable = office.parcels(day)
        error = office.learn(x, y, unreadable)
        board.write(office.number, office.weights)
        dist.barrier()  # all rows of the day are written
        mean = board.mean()
        office.weights = (1 - share) * office.weights + share * mean
        journal.note(day, [f"parcel {n} has no label" for n in unreadable.nonzero().flatten().tolist()])
        smooth = error if smooth is None else 0.95 * smooth + 0.05 * error
        if office.number == 0 and day % 100 == 0:
            print(f"day {day}: {smooth:.3f}", flush=True)
    return smooth


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=660)
    parser.add_argument("--share", type=float, default=0.5, help="how much of the mean an office takes over")
    parser.add_argument("--page", type=int, default=500, help="lines of a page of the journal")
    args = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    board = prepare(rank, world)
    office, journal = Office(rank), Journal(rank, args.page)
    smooth = work(office, board, journal, args.days, args.share)

    results = [None] * world
    dist.all_gather_object(results, (rank, smooth, len(journal)))
    if rank == 0:
        board.remove()
        for number, error, lines in results:
            print(f"office {number}: error {error:.3f}, {lines} lines")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
