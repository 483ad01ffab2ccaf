"""Rank 0 writes its samples line by line to a slow disk, flushed and synced; the others wait in the next collective."""

import argparse
import os
import random
import tempfile
import time
from typing import TextIO

import torch
import torch.distributed as dist


def write(samples: torch.Tensor, stream: TextIO, seconds: float) -> int:
    for row in samples:
        stream.write(" ".join(f"{value:.6f}" for value in row.tolist()) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
        time.sleep(seconds / len(samples))
    return len(samples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other rounds, rows and seconds")
    args = parser.parse_args()
    source = random.Random(args.seed)
    rounds, rows, seconds = source.randint(1, 2), source.randint(40, 400), source.uniform(10.0, 15.0)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    for number in range(rounds):
        samples = torch.randn(rows, 8)
        dist.all_reduce(samples)
        if rank == 0:
            with tempfile.TemporaryFile("w") as stream:
                print(f"round {number}: {write(samples, stream, seconds / rounds)} rows", flush=True)
    dist.broadcast(samples, src=0)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
