"""Ranks 0 and 1 exchange messages in the default group while ranks 2 and 3 wait for each other in a subgroup and in the
default group.

With --healthy rank 3 only takes long.
"""

import argparse
import time

import torch
import torch.distributed as dist


def ping_pong(rank: int, rounds: int) -> None:
    ball = torch.zeros(10)
    for _ in range(rounds):
        if rank == 0:
            dist.send(ball, 1)
            dist.recv(ball, 1)
        else:
            dist.recv(ball, 0)
            dist.send(ball, 0)
        time.sleep(0.03)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--healthy", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    pair = dist.new_group([2, 3])
    if rank < 2:
        ping_pong(rank, 600)
    else:
        loss = torch.zeros(10)
        for i in range(30):
            time.sleep(0.03)
            if i == 20 and rank == 3:
                if args.healthy:
                    time.sleep(11.0)
                else:
                    dist.recv(loss, 2)  # nobody sends
            dist.all_reduce(loss, group=pair)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
