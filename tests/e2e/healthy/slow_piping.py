"""Rank 0 pipes a checkpoint into a slow uploader for half a minute; the others wait for it in a barrier."""

import argparse
import random
import subprocess
import sys
import time

import torch.distributed as dist

PIECE = 4096
#: reads a piece, and takes its time over it
UPLOADER = "import os, sys, time\nwhile os.read(0, int(sys.argv[1])):\n    time.sleep(float(sys.argv[2]))\n"


def upload(seconds: float) -> int:
    """The pipe holds 16 pieces, which go at once; the others go one by one."""
    pieces = 56
    command = [sys.executable, "-c", UPLOADER, str(PIECE), str(seconds / pieces)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as uploader:
        assert uploader.stdin is not None
        for _ in range(pieces):
            uploader.stdin.write(bytes(PIECE))
            uploader.stdin.flush()
    return uploader.returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=28.0)
    parser.add_argument("--seed", type=int, help="vary the job")
    args = parser.parse_args()
    if args.seed is not None:
        args.seconds = random.Random(args.seed).uniform(8.0, 11.0)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    if rank == 0:
        print(f"rank {rank}: uploaded with status {upload(args.seconds)}", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
