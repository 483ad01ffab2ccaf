"""All ranks of one node take longer than the others have patience for: they compute, read slowly, or begin late."""

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def features(seconds: float) -> float:
    """Statistics of the node's shard, which are computed anew."""
    until, total = time.monotonic() + seconds, 0.0
    while time.monotonic() < until:
        total += float(torch.rand(160, 160).svd().S.sum())
    return total


def shard(seconds: float) -> float:
    """The node's shard, from a disk that gives a few bytes at a time."""
    total = 0
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(bytes(4096))
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            total += len(file.read(16))
            time.sleep(0.25)
    return float(total)


def throttled(seconds: float) -> float:
    """A node that is too hot: it rests between short pieces of work."""
    until, total = time.monotonic() + seconds, 0.0
    while time.monotonic() < until:
        total += float(torch.rand(64, 64).sum())
        time.sleep(0.4)
    return total


WORK: tuple[Callable[[float], float], ...] = (features, shard, throttled)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="another node, other work, another moment")
    args = parser.parse_args()
    source = random.Random(args.seed)
    work, seconds, steps = source.choice(WORK), source.uniform(8.0, 11.0), source.randint(12, 30)
    begins_late, at = source.random() < 0.2, source.randrange(2, 8)
    nodes = int(os.environ["WORLD_SIZE"]) // int(os.environ["LOCAL_WORLD_SIZE"])
    node = int(os.environ["RANK"]) // int(os.environ["LOCAL_WORLD_SIZE"])
    # on one node alone its last rank is the slow one
    slow = node == args.seed % nodes if nodes > 1 else int(os.environ["RANK"]) == int(os.environ["WORLD_SIZE"]) - 1
    total = work(seconds) if slow and begins_late else 0.0
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(6, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(steps):
        if slow and not begins_late and step == at:
            total += work(seconds)
        time.sleep(0.1)
        optimizer.zero_grad()
        model(torch.randn(8, 6)).square().mean().backward()
        optimizer.step()
    dist.barrier()
    print(f"rank {rank}: {total:.0f}", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
