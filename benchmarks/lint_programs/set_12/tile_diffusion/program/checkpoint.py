"""Checkpoints of a training run, written by rank 0."""
import os

import torch
import torch.distributed as dist


def save(path, model, ema, optimizer, step):
    if dist.get_rank() == 0:
        state = {
            "model": model.state_dict(),
            "ema": ema.state_dict(),
            "optimizer": optimizer.state_dict(),
            "rng": torch.get_rng_state(),
            "step": step,
        }
        tmp = path + ".tmp"
        torch.save(state, tmp)
        os.replace(tmp, path)
    dist.barrier()


def restore(path, model, ema, optimizer):
    """Loads the run if there is one; returns the number of finished steps."""
    if not os.path.exists(path):
        return 0
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(state["model"])
    ema.load_state_dict(state["ema"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["rng"])
    return state["step"]
