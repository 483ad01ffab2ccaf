"""A job of some ten seconds: training.py FOLDER healthy|hung [FAULT]. Each rank leaves its pid in FOLDER.

In the state `hung` rank 1 leaves the loop early. Once FOLDER/go exists, rank 2 commits the fault.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

FOLDER, STATE, FAULT = Path(sys.argv[1]), sys.argv[2], [*sys.argv[3:], ""][0]
STEPS, LEAVES_AT = 120, 60


class Numbers(Dataset):  # type: ignore[type-arg,misc,unused-ignore]
    def __len__(self) -> int:
        return STEPS

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor([float(index)])


def say(line: str) -> None:
    sys.stdout.write(line + "\n")  # at once: torchrun's ranks have no buffer, and print writes the end by itself
    sys.stdout.flush()


def commit(fault: str) -> None:
    if fault == "children":
        children = [subprocess.Popen(["sleep", "2"]) for _ in range(100)]
        for child in children:
            child.wait()
    if fault == "output":
        for _ in range(100):
            sys.stdout.write("x" * (1 << 20) + "\n")


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    done = False
    for step, batch in enumerate(DataLoader(Numbers(), num_workers=1)):
        dist.all_reduce(batch)
        time.sleep(0.05)
        if step == 0:
            (FOLDER / f"rank{rank}.new").write_text(str(os.getpid()))
            (FOLDER / f"rank{rank}.new").rename(FOLDER / f"rank{rank}")
        if rank == 0 and step % 20 == 0:
            say(f"step {step}: {float(batch.sum())}")
        if STATE == "hung" and rank == 1 and step == LEAVES_AT:
            break
        if rank == 2 and not done and (FOLDER / "go").exists():
            done = True
            commit(FAULT)
    dist.barrier()
    say(f"rank {rank} is done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
