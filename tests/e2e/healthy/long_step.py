"""All ranks are in one long step: no rank waits, and no page changes for twenty seconds."""

import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def unroll(cell: nn.Module, state: torch.Tensor, seconds: float) -> torch.Tensor:
    """Apply one cell over and over, as a simulation inside a training step does."""
    until = time.monotonic() + seconds
    with torch.no_grad():
        while time.monotonic() < until:
            state = torch.tanh(cell(state))
            time.sleep(0.002)
    return state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--seed", type=int, help="vary the job")
    args = parser.parse_args()
    if args.seed is not None:
        args.seconds = random.Random(args.seed).uniform(3.0, 6.0)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(16, 16))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(unroll(model.module, torch.randn(4, 16), args.seconds)).square().mean().backward()
    optimizer.step()
    dist.barrier()
    print(f"rank {rank}: one step", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
