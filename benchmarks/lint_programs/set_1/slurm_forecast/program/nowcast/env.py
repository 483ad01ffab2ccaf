"""What SLURM tells each task."""
import os
from typing import NamedTuple

import torch
import torch.distributed as dist


class Env(NamedTuple):
    rank: int
    local_rank: int
    world_size: int

    @property
    def distributed(self):
        return self.world_size > 1

    @property
    def is_writer(self):
        return self.rank == 0


def read_env() -> Env:
    if "SLURM_PROCID" not in os.environ:
        return Env(0, 0, 1)
    return Env(
        rank=int(os.environ["SLURM_PROCID"]),
        local_rank=int(os.environ["SLURM_LOCALID"]),
        world_size=int(os.environ["SLURM_NTASKS"]),
    )


def connect(env: Env):
    if env.distributed:
        dist.init_process_group("nccl", rank=env.rank, world_size=env.world_size)


def mean_over_tasks(total: torch.Tensor, count: torch.Tensor) -> float:
    both = torch.stack([total, count])
    if dist.is_initialized():
        dist.all_reduce(both)
    return (both[0] / both[1]).item()
