"""Checkpoints in one file."""
import pathlib

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict


class Snapshots:
    def __init__(self, folder, every, keep=2):
        self.folder = pathlib.Path(folder)
        self.every = every
        self.keep = keep
        self.written = []

    def due(self, step):
        return step > 0 and step % self.every == 0

    def collect(self, model, step, loss):
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        return {"model": get_model_state_dict(model, options=options), "step": step, "loss": loss}

    def write(self, model, step, loss):
        path = self.folder / f"step_{step:06d}.pt"
        torch.save(self.collect(model, step, loss), path)
        self.written.append(path)
        while len(self.written) > self.keep:
            self.written.pop(0).unlink()

    def after_step(self, model, step, loss):
        if not self.due(step):
            return
        if dist.get_rank() == 0:
            self.write(model, step, loss)
        dist.barrier()
