"""Rank 1 sleeps through a monitored barrier of five seconds."""

import time
from datetime import timedelta

import torch
import torch.distributed as dist


def export(rank: int) -> None:
    if rank == 1:
        time.sleep(600.0)


dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
export(dist.get_rank())
dist.monitored_barrier(timeout=timedelta(seconds=5))
dist.destroy_process_group()
