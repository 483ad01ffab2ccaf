import os

import torch
import torch.distributed as dist


def rng_state():
    return {
        "cpu": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state() if torch.cuda.is_available() else None,
    }


def restore_rng(state):
    torch.set_rng_state(state["cpu"])
    if state["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])


def save(path, model, ema, opt, epoch):
    """Called by all ranks at the end of an epoch."""
    state = {
        "model": model.module.state_dict(),
        "ema": ema.state_dict(),
        "opt": opt.state_dict(),
        "epoch": epoch,
        "rng": rng_state(),
    }
    if dist.get_rank() == 0:
        tmp = f"{path}.tmp"
        torch.save(state, tmp)
        os.replace(tmp, path)
    dist.barrier()


def load(path, model, ema, opt):
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.module.load_state_dict(state["model"])
    ema.load_state_dict(state["ema"])
    opt.load_state_dict(state["opt"])
    restore_rng(state["rng"])
    return state["epoch"] + 1
