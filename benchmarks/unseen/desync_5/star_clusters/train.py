"""Clusters of stars by mini-batch k-means over the fields of several telescopes."""

import argparse

import torch
import torch.distributed as dist

from clusters import Centres, Evaluator, Sky


def fit(args):
    rank = dist.get_rank()
    model = Centres(args.clusters, args.width)
    sky = Sky(rank, crowded_from=300 if rank == 3 else None)
    evaluator = Evaluator(model, args.pause)
    evaluator.put_aside(sky.frame(0, args.width))
    with evaluator:
        for number in range(args.frames):
            stars = sky.frame(number, args.width)
            keep = len(stars) // 16
            evaluator.put_aside(stars[:keep])
            table = model.table(stars[keep:])
            dist.all_reduce(table)
            model.move(table, args.rate)
            if rank == 0 and number % 200 == 0 and evaluator.shares:
                print(f"frame {number}: largest cluster {evaluator.shares[-1]:.3f}", flush=True)
    dist.barrier()
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int, default=1200)
    parser.add_argument("--clusters", type=int, default=12)
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("--pause", type=float, default=0.1)
    parser.add_argument("--rate", type=float, default=0.05)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = fit(args)
    if dist.get_rank() == 0:
        print(model.centres.norm(dim=1).mean().item(), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
