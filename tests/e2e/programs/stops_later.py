"""A job that moves until FOLDER/stop exists; then rank 1 waits for a file that nobody makes, the others for rank 1."""

import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

FOLDER = Path(sys.argv[1])


def wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.5)


dist.init_process_group("gloo")
rank = dist.get_rank()
while True:
    dist.all_reduce(torch.ones(1))
    sum(i * i for i in range(200_000))
    (FOLDER / f"{rank}.moves").touch()
    if rank == 1 and (FOLDER / "stop").exists():
        wait_for(FOLDER / "no such file")
