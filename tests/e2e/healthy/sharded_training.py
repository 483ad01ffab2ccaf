"""A sharded model, whose whole state all ranks gather and the first one writes to a slow disk."""

import argparse
import os
import random
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def write_slowly(state: dict[str, object], path: Path, seconds: float) -> None:
    """A disk that takes one tensor after the other, with a pause."""
    for number, (name, value) in enumerate(sorted(state.items())):
        with (path / f"{number}-{name}.pt").open("wb") as stream:
            torch.save(value, stream)
            os.fsync(stream.fileno())
        time.sleep(seconds / len(state))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other layers, steps and seconds")
    args = parser.parse_args()
    source = random.Random(args.seed)
    depth, steps, seconds = source.randint(1, 3), source.randint(2, 8), source.uniform(2.0, 4.0)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(16, 16) for _ in range(depth)))
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(4, 16)).square().mean().backward()
        optimizer.step()
    whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if rank == 0:
        with tempfile.TemporaryDirectory() as folder:
            write_slowly(whole, Path(folder), seconds)
    dist.barrier()
    print(f"rank {rank}: {steps} steps", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
