"""Rank 1 does not join an all_reduce for a minute; the others time out much sooner."""

import datetime as dt
import sys
import time

import torch
import torch.distributed as dist


def evaluate() -> None:
    if dist.get_rank() == 1:
        time.sleep(120)


def main() -> None:
    dist.init_process_group("gloo", timeout=dt.timedelta(seconds=float(sys.argv[1])))
    total = torch.ones(4)
    for step in range(3):
        dist.all_reduce(total)
        print(f"step {step}", flush=True)
    evaluate()
    dist.all_reduce(total)
    dist.destroy_process_group()
    time.sleep(0.2)


if __name__ == "__main__":
    main()
