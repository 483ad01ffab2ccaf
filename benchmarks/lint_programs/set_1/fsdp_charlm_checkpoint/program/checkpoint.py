import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    FullyShardedDataParallel as FSDP,
    StateDictType,
)


def save(path, model, optimizer, step):
    rank = dist.get_rank()
    with FSDP.state_dict_type(
        model,
        StateDictType.FULL_STATE_DICT,
        FullStateDictConfig(offload_to_cpu=True, rank0_only=True),
        FullOptimStateDictConfig(offload_to_cpu=True, rank0_only=True),
    ):
        model_sd = model.state_dict()
        if rank == 0:
            ckpt = {
                "model": model_sd,
                "optimizer": FSDP.optim_state_dict(model, optimizer),
                "step": step,
            }
            tmp = path + ".tmp"
            torch.save(ckpt, tmp)
            os.replace(tmp, path)
    dist.barrier()


def load(path, model, optimizer):
    ckpt = torch.load(path, map_location="cpu", weights_only=True)
    with FSDP.state_dict_type(
        model,
        StateDictType.FULL_STATE_DICT,
        FullStateDictConfig(rank0_only=False),
        FullOptimStateDictConfig(rank0_only=False),
    ):
        model.load_state_dict(ckpt["model"])
        optim_sd = FSDP.optim_state_dict_to_load(model, optimizer, ckpt["optimizer"])
        optimizer.load_state_dict(optim_sd)
    return ckpt["step"]
