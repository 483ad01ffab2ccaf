import os
import random

import numpy as np
import torch
import torch.distributed as dist


def rng_state():
    state = {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def set_rng_state(state):
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])
    if torch.cuda.is_available() and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"])


class Checkpointer:
    def __init__(self, path, model, optimizer):
        self.path = path
        self.model = model
        self.optimizer = optimizer

    def save(self, epoch):
        states = rng_state()
        if dist.get_rank() == 0:
            payload = {
                "epoch": epoch,
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "rng": states,
            }
            torch.save(payload, self.path + ".tmp")
            os.replace(self.path + ".tmp", self.path)
        dist.barrier()

    def restore(self):
        """Returns the epoch to start with."""
        exists = [os.path.exists(self.path)]
        dist.broadcast_object_list(exists, src=0)
        if not exists[0]:
            return 0
        payload = torch.load(self.path, map_location="cpu", weights_only=False)
        self.model.load_state_dict(payload["model"])
        self.optimizer.load_state_dict(payload["optimizer"])
        set_rng_state(payload["rng"])
        return payload["epoch"] + 1
