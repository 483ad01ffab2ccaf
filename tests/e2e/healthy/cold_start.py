"""One rank is late: it unpacks and imports its plugins for many seconds before it joins the process group."""

import argparse
import importlib
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

PLUGIN = "import time\ntime.sleep({seconds})\nWEIGHT = {weight}\n"


def plugins(number: int, seconds: float) -> float:
    """Write and import modules, each of which takes its time as it is imported."""
    weight = 0.0
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        for index in range(number):
            name = f"cold_plugin_{index}"
            (Path(folder) / f"{name}.py").write_text(PLUGIN.format(seconds=seconds / number, weight=index))
            importlib.invalidate_caches()
            weight += float(importlib.import_module(name).WEIGHT)
    return weight


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="another rank, other plugins and seconds")
    args = parser.parse_args()
    source = random.Random(args.seed)
    number, seconds, steps = source.randint(3, 20), source.uniform(12.0, 18.0), source.randint(4, 12)
    late = int(os.environ["RANK"]) == args.seed % int(os.environ["WORLD_SIZE"])
    weight = plugins(number, seconds) if late else 0.0
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(6, 1))
    for _ in range(steps):
        model(torch.randn(8, 6)).square().mean().backward()
    dist.barrier()
    print(f"rank {rank}: plugins weigh {weight}", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
