import os
from dataclasses import dataclass

import torch
import torch.distributed as dist


@dataclass
class DistEnv:
    rank: int = 0
    local_rank: int = 0
    world_size: int = 1
    device: torch.device = torch.device("cpu")

    @property
    def primary(self):
        return self.rank == 0


def init_env():
    env = DistEnv(int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"]), int(os.environ["WORLD_SIZE"]))
    env.device = torch.device("cuda", env.local_rank)
    torch.cuda.set_device(env.device)
    dist.init_process_group("nccl")
    return env


def reduce_mean(tensor, env):
    out = tensor.detach().clone()
    dist.all_reduce(out)
    return out / env.world_size
