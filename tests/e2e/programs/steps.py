"""Steps with an all_reduce each: `steps.py SECONDS [--slow RANK PAUSE]`, where RANK computes so long halfway.

With `--count FILE` rank 0 adds a byte to the file with each step, and steps are as short as they can be.
"""

from __future__ import annotations

import argparse
import os
import time

import torch
import torch.distributed as dist


def compute(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        torch.rand(200, 200).svd()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float)
    parser.add_argument("--slow", nargs=2, type=float, default=(-1, 0.0))
    parser.add_argument("--count")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    number = torch.ones(1)
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    began, slept = time.monotonic(), False
    go_on = torch.ones(1)
    counts = args.count and dist.get_rank() == 0
    steps = os.open(args.count, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if counts else -1
    while go_on.item():
        optimizer.step()
        if steps >= 0:
            os.write(steps, b".")
        elif not args.count:
            time.sleep(0.05)
        if not slept and time.monotonic() - began > args.seconds / 2 and dist.get_rank() == args.slow[0]:
            compute(args.slow[1])
            slept = True
        dist.all_reduce(number)
        go_on.fill_(float(time.monotonic() - began < args.seconds))
        dist.broadcast(go_on, src=0)
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.3)


if __name__ == "__main__":
    main()
