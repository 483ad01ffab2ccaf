"""The ranks form a ring and exchange their borders, some with blocking calls in the right order, some batched."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import Tensor


def in_turn(piece: Tensor, left: int, right: int, first: bool) -> Tensor:
    """One rank sends before it receives, so that the circle is open; the others the other way round."""
    halo = torch.empty_like(piece)
    if first:
        dist.send(piece, dst=right)
        dist.recv(halo, src=left)
    else:
        dist.recv(halo, src=left)
        dist.send(piece, dst=right)
    return halo


def at_once(piece: Tensor, left: int, right: int) -> Tensor:
    """Both directions in the air at the same time."""
    halo = torch.empty_like(piece)
    waiting = [dist.irecv(halo, src=left), dist.isend(piece, dst=right)]
    for work in waiting:
        if work is not None:
            work.wait()
    return halo


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other rounds and seconds, another rank that is late")
    args = parser.parse_args()
    source = random.Random(args.seed)
    rounds, seconds, batched = source.randint(3, 12), source.uniform(2.0, 4.5), source.random() < 0.5
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    piece = torch.full((16,), float(rank))
    for step in range(rounds):
        if step == rounds // 2 and rank == args.seed % size:
            time.sleep(seconds)
        halo = at_once(piece, left, right) if batched else in_turn(piece, left, right, first=rank == 0)
        piece = (piece + halo) / 2
    dist.barrier()
    print(f"rank {rank}: {piece.mean().item():.3f}", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
