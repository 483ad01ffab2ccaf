"""Rank 1 waits for a file that nobody makes, the others for rank 1; each says that it is there."""

import os
import time
from pathlib import Path

import torch
import torch.distributed as dist


def wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.5)


dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
os.write(1, b"standing\n")  # in one piece, whatever buffers are set
if dist.get_rank() == 1:
    wait_for(Path(__file__).with_name("no such file"))
dist.barrier()
dist.destroy_process_group()
