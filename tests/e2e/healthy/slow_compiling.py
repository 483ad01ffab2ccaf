"""Rank 1 builds a native kernel with the machine's compiler before it joins; the others wait in an all-reduce."""

import argparse
import ctypes
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist

TEMPLATE = "double kernel_{number}(double x) {{ return x * {number} + {number}.5; }}\n"


def build(folder: Path, seconds: float) -> float:
    """Compile one translation unit after the other until the time is up; without a compiler, byte-compile Python."""
    until = time.monotonic() + seconds
    number, value = 0, 0.0
    while time.monotonic() < until:
        number += 1
        source = folder / f"kernel_{number}.c"
        source.write_text("".join(TEMPLATE.format(number=number * 10000 + part) for part in range(4000)))
        library = folder / f"kernel_{number}.so"
        try:
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
            value = float(ctypes.CDLL(str(library))[f"kernel_{number * 10000}"](0) is not None)
        except FileNotFoundError:
            subprocess.run([sys.executable, "-c", "sum(i * i for i in range(10**7))"], check=True)
        source.unlink()
    return value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=28.0)
    parser.add_argument("--seed", type=int, help="vary the job")
    args = parser.parse_args()
    if args.seed is not None:
        args.seconds = random.Random(args.seed).uniform(8.0, 11.0)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    if rank == 1:
        with tempfile.TemporaryDirectory() as folder:
            build(Path(folder), args.seconds)
    ready = torch.ones(1)
    dist.all_reduce(ready)
    dist.barrier()
    print(f"rank {rank}: {int(ready.item())} ranks are ready", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
