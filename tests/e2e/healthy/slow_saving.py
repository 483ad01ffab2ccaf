"""Rank 0 writes a large checkpoint to slow storage for half a minute; the others wait in a barrier."""

import argparse
import os
import random
import tempfile
import time
from pathlib import Path
from typing import BinaryIO

import torch
import torch.distributed as dist
from torch import nn


class SlowStorage:
    """A file that takes a given number of bytes a second, as a network file system on a bad day."""

    def __init__(self, stream: BinaryIO, rate: float) -> None:
        self.stream = stream
        self.rate = rate

    def write(self, data: bytes) -> int:
        view = memoryview(data).cast("B")
        for start in range(0, len(view), 65536):
            part = view[start : start + 65536]
            self.stream.write(part)
            self.stream.flush()
            os.fsync(self.stream.fileno())
            time.sleep(len(part) / self.rate)
        return len(view)

    def flush(self) -> None:
        self.stream.flush()


def save(model: nn.Module, path: Path, seconds: float) -> None:
    size = sum(value.numel() * value.element_size() for value in model.state_dict().values())
    with path.open("wb") as stream:
        torch.save(model.state_dict(), SlowStorage(stream, rate=size / seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=28.0)
    parser.add_argument("--seed", type=int, help="vary the job")
    args = parser.parse_args()
    if args.seed is not None:
        args.seconds = random.Random(args.seed).uniform(8.0, 11.0)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*(nn.Linear(512, 512) for _ in range(8))))
    model(torch.randn(2, 512)).sum().backward()
    if rank == 0:
        with tempfile.TemporaryDirectory() as folder:
            save(model.module, Path(folder) / "model.pt", args.seconds)
    dist.barrier()
    print(f"rank {rank}: saved", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
