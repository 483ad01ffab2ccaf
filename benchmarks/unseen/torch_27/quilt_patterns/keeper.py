"""Keeps the best state of a run so that it can be continued from there."""
import os

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions, get_model_state_dict, get_optimizer_state_dict)


class BestKeeper:
    """Writes model.pt, and optim.pt once the model is worth continuing from (`resume_above`)."""

    FULL = StateDictOptions(full_state_dict=True, cpu_offload=True)

    def __init__(self, folder, resume_above):
        self.folder = folder
        self.resume_above = resume_above
        self.best = 0.0
        self.main = dist.get_rank() == 0

    def offer(self, score, model, optimizer):
        # `score` is the mean over all ranks, so everyone takes the same way
        if score <= self.best:
            return False
        self.best = score
        weights = get_model_state_dict(model, options=self.FULL)
        if self.main:
            self.write("model.pt", weights)
            if score > self.resume_above:
                self.write("optim.pt", self.moments(model, optimizer))
        dist.barrier()
        return True

    def moments(self, model, optimizer):
        state = get_optimizer_state_dict(model, optimizer, options=self.FULL)
        return {"score": self.best, "optimizer": state}

    def write(self, name, what):
        path = os.path.join(self.folder, name)
        torch.save(what, path + ".part")
        os.replace(path + ".part", path)
