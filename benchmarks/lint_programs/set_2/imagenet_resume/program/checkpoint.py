import os

import torch
import torch.distributed as dist

from distutil import is_main


def save(path, model, optimizer, epoch, best):
    if not is_main():
        return
    tmp = path + ".tmp"
    torch.save({
        "model": model.module.state_dict(),
        "optimizer": optimizer.state_dict(),
        "epoch": epoch,
        "best": best,
    }, tmp)
    os.replace(tmp, path)


def restore(path, model, optimizer, device):
    """Load `path` into the bare model and the optimizer; returns (next epoch, best accuracy)."""
    state = torch.zeros(2, dtype=torch.float64, device=device)
    if is_main():
        ckpt = torch.load(path, map_location=device)
        model.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        state[0] = ckpt["epoch"] + 1
        state[1] = ckpt["best"]
    dist.broadcast(state, src=0)
    return int(state[0].item()), state[1].item()
