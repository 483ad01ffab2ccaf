"""A survey of kelp by five teams of divers, with a model of growth that all of them improve after each dive."""

import argparse

import torch
import torch.distributed as dist

from dives import Diver
from survey import Survey


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=580)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--print-every", type=int, default=100)
    return parser.parse_args()


def main():
    args = parse()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, teams = dist.get_rank(), dist.get_world_size()
    diver, survey = Diver(rank), Survey(teams, args.lr)
    rounds = 0
    while rounds < args.rounds:
        counts, light = diver.dive()
        survey.round(counts, light)
        rounds += 1
        if rank == 0 and rounds % args.print_every == 0:
            print(survey.line(), flush=True)
    dist.barrier()
    print(f"team {rank}:", survey.line(), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
