from pathlib import Path

import torch
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
)


class Checkpointer:
    """Writes one consolidated file that loads into an unsharded model."""

    def __init__(self, out, model, optimizer):
        self.out = Path(out)
        self.model, self.optimizer = model, optimizer
        self.options = StateDictOptions(full_state_dict=True, cpu_offload=True)

    def state(self):
        return {
            "model": get_model_state_dict(self.model, options=self.options),
            "optimizer": get_optimizer_state_dict(self.model, self.optimizer, options=self.options),
        }

    def save(self, step):
        payload = {"step": step, **self.state()}
        self.out.mkdir(parents=True, exist_ok=True)
        tmp = self.out / f"step{step}.pt.tmp"
        torch.save(payload, tmp)
        tmp.rename(self.out / f"step{step}.pt")
