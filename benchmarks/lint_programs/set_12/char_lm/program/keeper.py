"""Keeps the best weights of a run and says when to stop."""
import os

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict


class BestKeeper:
    def __init__(self, path, min_delta=0.0):
        self.path = path
        self.min_delta = min_delta
        self.best = float("inf")
        self.best_epoch = -1

    def improved(self, value):
        return value < self.best - self.min_delta

    def save(self, model, value, epoch):
        weights = get_model_state_dict(
            model, options=StateDictOptions(full_state_dict=True, cpu_offload=True)
        )
        if dist.get_rank() != 0:
            return
        tmp = self.path + ".tmp"
        torch.save({"model": weights, "val_loss": value, "epoch": epoch}, tmp)
        os.replace(tmp, self.path)
        self.best = value
        self.best_epoch = epoch

    def exhausted(self, epoch, patience):
        """Rank 0 decides, so that all ranks leave the loop together."""
        stop = torch.tensor([0])
        if dist.get_rank() == 0:
            stop[0] = int(epoch - self.best_epoch >= patience)
        dist.broadcast(stop, src=0)
        return bool(stop.item())
