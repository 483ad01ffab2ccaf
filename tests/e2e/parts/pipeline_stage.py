"""Two pipelines of two stages: in the first, the last stage takes one micro-batch more than it is sent, and the second
pipeline goes on.

With --healthy the first stage only takes long.
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
    peer, rounds = rank ^ 1, 600 if rank > 1 else 40
    activations, gradient = torch.zeros(100), torch.zeros(100)
    for i in range(rounds):
        time.sleep(0.03)
        if rank % 2 == 0:
            if i == 20 and rank == 0 and args.healthy:
                time.sleep(11.0)
            dist.send(activations, peer)
            dist.recv(gradient, peer)
        else:
            dist.recv(activations, peer)
            if i == 20 and rank == 1 and not args.healthy:
                dist.recv(activations, peer)  # there is no second one
            dist.send(gradient, peer)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
