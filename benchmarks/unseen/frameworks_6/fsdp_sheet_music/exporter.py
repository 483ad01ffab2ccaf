import os

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict


class Exporter:
    """Writes the whole model for the demo server every few steps."""

    def __init__(self, folder, every):
        self.folder, self.every = folder, every
        os.makedirs(folder, exist_ok=True)

    def due(self, step):
        return step > 0 and step % self.every == 0

    def _whole(self, model):
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        return get_model_state_dict(model, options=options)

    def after_step(self, step, model):
        if not self.due(step):
            return
        if dist.get_rank() == 0:
            weights = self._whole(model)
            torch.save(weights, os.path.join(self.folder, f"demo_{step}.pt"))
        dist.barrier()
