"""Evolution of finches on islands, with a migrant to the next island in every year.

    torchrun --nproc-per-node 4 train.py

In the years of El Nino whole flocks are blown across.
"""
import argparse
import time

import torch
import torch.distributed as dist

from island import GENES, Population
from mail import Mail


def flock(year, args):
    """How many finches leave an island in a year."""
    return args.flock if year and year % args.nino == 0 else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--years", type=int, default=150)
    parser.add_argument("--size", type=int, default=60)
    parser.add_argument("--sigma", type=float, default=0.05)
    parser.add_argument("--nino", type=int, default=40)
    parser.add_argument("--flock", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    population = Population(rank, args.size, args.sigma)
    mail = Mail(GENES)
    for year in range(args.years):
        population.forage(year)
        leaving = flock(year, args)
        for finch, fitness in zip(*population.best(leaving)):
            mail.post(finch, fitness)
        newcomers = mail.collect(leaving)
        population.settle(*newcomers)
        population.breed()
        time.sleep(0.05)
        if year % 10 == 0:
            print(f"year {year}, island {rank}: best {population.fitness.max().item():.4f}", flush=True)
    mail.close()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
