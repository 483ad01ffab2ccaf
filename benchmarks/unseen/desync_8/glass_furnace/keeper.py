"""Keeps the weights: the shards are gathered by everybody, the file is the first process's business."""

import io
import time

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict


class Keeper:
    def __init__(self, model, every):
        self.model, self.every = model, every
        self.kept = 0

    def after(self, step):
        if step % self.every:
            return
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        state = get_model_state_dict(self.model, options=options)
        if dist.get_rank() == 0:
            self.write(step, state)
        self.kept += 1

    def write(self, step, state):
        """Writes and reads back, as the archive is on tape."""
        buffer = io.BytesIO()
        torch.save(state, buffer)
        time.sleep(1.4)
        buffer.seek(0)
        again = torch.load(buffer)
        same = all(torch.equal(again[name], state[name]) for name in state)
        print(f"step {step}: kept {len(state)} tensors, {'intact' if same else 'DAMAGED'}", flush=True)
