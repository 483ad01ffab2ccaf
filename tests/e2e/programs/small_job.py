"""A healthy little job: a few steps of DDP, one line of output, and the exit status that it is asked for."""

import argparse
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--status", type=int, default=0)
    parser.add_argument("--steps", type=int, default=5)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(8, 8))
    for _ in range(args.steps):
        model(torch.ones(4, 8)).sum().backward()
    if dist.get_rank() == 0:
        print(f"gradient {sum(float(p.grad.sum()) for p in model.parameters()):.3f}")
    dist.barrier()
    dist.destroy_process_group()
    # torch 2.13 on gloo, watched or not: a worker thread that drops its last Python object during Py_Finalize aborts
    time.sleep(0.2)
    return args.status if dist.is_available() else 1


if __name__ == "__main__":
    sys.exit(main())
