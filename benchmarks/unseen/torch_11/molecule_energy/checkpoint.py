import logging
import pathlib

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

log = logging.getLogger(__name__)


class Checkpointer:
    """Keeps the newest `keep` checkpoints, each one file that a single process can load."""

    def __init__(self, folder, every, keep=2):
        self.folder = pathlib.Path(folder)
        self.every = every
        self.keep = keep
        self.written = []

    def due(self, step):
        return step > 0 and step % self.every == 0

    def _write(self, step, model):
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        state = get_model_state_dict(model, options=options)
        path = self.folder / f"step_{step:06d}.pt"
        torch.save({"step": step, "model": state}, path)
        self.written.append(path)
        while len(self.written) > self.keep:
            self.written.pop(0).unlink(missing_ok=True)
        log.info("wrote %s", path)

    def save(self, step, model):
        if dist.get_rank() == 0:
            self._write(step, model)
        dist.barrier()
