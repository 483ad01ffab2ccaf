"""Rank 0 prepares the data and leaves a marker; the others look for that file again and again, without a collective."""

import argparse
import random
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist


def prepare(folder: Path, shards: int, seconds: float) -> None:
    """Write the shards, one after the other, and the marker last, under its name only when it is whole."""
    for number in range(shards):
        time.sleep(seconds / shards)
        torch.save(torch.full((64,), float(number)), folder / f"shard-{number}.pt")
    (folder / "marker.part").write_text(str(shards))
    (folder / "marker.part").rename(folder / "ready")


def wait_for(marker: Path, pause: float) -> int:
    while not marker.exists():
        time.sleep(pause)
    return int(marker.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other shards, pauses and seconds")
    args = parser.parse_args()
    source = random.Random(args.seed)
    shards, seconds, pause = source.randint(4, 40), source.uniform(10.0, 18.0), source.choice([0.1, 0.5, 1.0])
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    shared = [tempfile.mkdtemp()] if rank == 0 else [""]
    dist.broadcast_object_list(shared)
    folder = Path(shared[0])
    if rank == 0:
        prepare(folder, shards, seconds)
    number = wait_for(folder / "ready", pause)
    total = torch.stack([torch.load(folder / f"shard-{shard}.pt") for shard in range(number)]).sum()
    dist.all_reduce(total)
    print(f"rank {rank}: {number} shards, {total.item():.0f} in all", flush=True)
    dist.destroy_process_group()
    time.sleep(0.2)  # a gloo worker must finish its last operation before the interpreter shuts down


if __name__ == "__main__":
    main()
