import os
import random

import numpy as np
import torch
import torch.distributed as dist


def rng_state():
    state = {"python": random.getstate(), "numpy": np.random.get_state(), "torch": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def set_rng_state(state):
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])


class TrainState:
    """Everything that is needed to go on exactly where the run stopped."""

    def __init__(self, out, model, opt, ema):
        self.path = os.path.join(out, "state.pt")
        os.makedirs(out, exist_ok=True)
        self.model, self.opt, self.ema = model, opt, ema

    def save(self, epoch):
        if dist.get_rank() == 0:
            tmp = self.path + ".tmp"
            torch.save({
                "model": self.model.state_dict(),
                "opt": self.opt.state_dict(),
                "ema": self.ema.shadow,
                "epoch": epoch,
                "rng": rng_state(),
            }, tmp)
            os.replace(tmp, self.path)
        dist.barrier()

    def load(self, device):
        if not os.path.exists(self.path):
            return 0
        ckpt = torch.load(self.path, map_location="cpu", weights_only=False)
        self.model.load_state_dict(ckpt["model"])
        self.opt.load_state_dict(ckpt["opt"])
        self.ema.shadow = {k: v.to(device) for k, v in ckpt["ema"].items()}
        set_rng_state(ckpt["rng"])
        return ckpt["epoch"] + 1
