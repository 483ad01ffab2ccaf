"""Random search over an attention tagger: every rank trains one configuration per round."""
import argparse
import logging

import torch
import torch.distributed as dist

from trials import Sampler, Worker

SEED = 4


def cli():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rounds", type=int, default=12)
    p.add_argument("--steps", type=int, default=8, help="per trial")
    p.add_argument("--seed", type=int, default=SEED)
    return p.parse_args()


def search(opts):
    rank, world = dist.get_rank(), dist.get_world_size()
    sampler = Sampler(opts.seed) if rank == 0 else None
    worker = Worker(rank, opts.steps)
    for number in range(opts.rounds):
        trials = sampler.draw(world) if sampler else [None] * world
        dist.broadcast_object_list(trials, src=0)
        worker.play(trials)
        if rank == 0 and worker.table:
            best = min(worker.table, key=lambda t: t.score)
            logging.info("round %d: best so far %.4f with dim %d, %d heads", number, best.score, best.dim, best.heads)
    return worker.table


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    table = search(cli())
    dist.barrier()
    if dist.get_rank() == 0:
        for t in sorted(table, key=lambda t: t.score)[:3]:
            print(t)
    dist.destroy_process_group()
