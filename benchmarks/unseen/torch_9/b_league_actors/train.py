import argparse
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector

from roles import Actor, Learner


def arguments():
    p = argparse.ArgumentParser(description="One learner, and actors that have unequal numbers of games to play.")
    p.add_argument("--games", type=int, nargs="+", default=[60, 160, 380])
    p.add_argument("--evaluation-rounds", type=int, default=100)
    return p.parse_args()


def main():
    args = arguments()
    dist.init_process_group("gloo", timeout=timedelta(minutes=10))
    torch.set_num_threads(1)
    rank, world = dist.get_rank(), dist.get_world_size()

    score = 0.0
    if rank == 0:
        node = Learner(range(1, world))
        node.run()
        print(f"{node.updates} updates, all actors are through", flush=True)
        score = node.evaluate(args.evaluation_rounds)
    else:
        node = Actor(rank, args.games[(rank - 1) % len(args.games)])
        node.run()
        print(f"actor {rank}: {node.games} games played", flush=True)

    dist.monitored_barrier(timeout=timedelta(minutes=3), wait_all_ranks=True)
    final = parameters_to_vector(node.policy.parameters()).detach().clone()
    dist.broadcast(final, src=0)
    if rank == 0:
        print(f"score {score:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
