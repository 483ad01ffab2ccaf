import os

import torch

from dist_utils import broadcast_object, is_primary


def save_checkpoint(folder, model, optimizer, epoch, best, is_best):
    if not is_primary():
        return
    os.makedirs(folder, exist_ok=True)
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch, "best": best}
    last = os.path.join(folder, "last.pth")
    torch.save(state, last + ".tmp")
    os.replace(last + ".tmp", last)
    if is_best:
        torch.save({"model": state["model"]}, os.path.join(folder, "best.pth"))


def resume_checkpoint(path, model, optimizer, device):
    meta = None
    if is_primary():
        state = torch.load(path, map_location=device, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        meta = {"epoch": state["epoch"] + 1, "best": state["best"]}
        print(f"resumed from {path} (epoch {state['epoch']})")
    return broadcast_object(meta)
