"""A small healthy job: a few steps of DDP, one line of output, and the requested exit status."""

import argparse
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def is_wanted(end: Path) -> bool:
    """The first rank decides for all whether there is another step."""
    time.sleep(0.05)
    wanted = torch.tensor(not end.exists())
    dist.broadcast(wanted, 0)
    return bool(wanted)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--status", type=int, default=0)
    parser.add_argument("--until", type=Path, help="go on until there is such a file")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(8, 8))
    steps = 0
    while steps < 5 or (args.until and is_wanted(args.until)):
        model(torch.ones(4, 8)).sum().backward()
        steps += 1
    if dist.get_rank() == 0:
        print(f"gradient {sum(float(p.grad.sum()) for p in model.parameters()):.3f}")
    dist.barrier()
    dist.destroy_process_group()
    # torch 2.13 on gloo, watched or not: a worker thread that drops its last Python object during Py_Finalize aborts
    time.sleep(0.2)
    return args.status if dist.is_available() else 1


if __name__ == "__main__":
    sys.exit(main())
