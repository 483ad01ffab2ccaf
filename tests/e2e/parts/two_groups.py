"""Two halves of the job, each with a group of its own: in the first, a rank saves by itself.

With --healthy that rank only takes long.
"""

import argparse
import time

import torch
import torch.distributed as dist


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--healthy", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    halves = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    half, rounds = halves[rank // 2], 600 if rank > 1 else 40
    total = torch.zeros(100)
    for i in range(rounds):
        time.sleep(0.03)
        if i == 20 and rank == 1:
            if args.healthy:
                time.sleep(11.0)
            else:
                dist.barrier(group=half)  # rank 0 does not save
        dist.all_reduce(total, group=half)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
