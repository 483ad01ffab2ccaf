"""Perplexity on a fixed set of probe sentences during training."""
import math

import torch
from torch.utils.data import Dataset
from transformers import TrainerCallback


class ProbeSet(Dataset):
    def __init__(self, vocab, length, count=24):
        gen = torch.Generator().manual_seed(99)
        self.rows = torch.randint(0, vocab, (count, length), generator=gen)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {"input_ids": self.rows[i], "labels": self.rows[i]}


class ProbeCallback(TrainerCallback):
    """Every `every` steps: perplexity of the probes, kept in `history` and printed."""

    def __init__(self, trainer, probes, every):
        self.trainer = trainer
        self.probes = probes
        self.every = every
        self.history = []

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step % self.every:
            return
        if state.is_world_process_zero:
            loss = self._measure(state.global_step)
            print(f"[probe] step {state.global_step}: perplexity {math.exp(loss):.1f}", flush=True)

    def _measure(self, step):
        output = self.trainer.predict(self.probes, metric_key_prefix="probe")
        loss = output.metrics["probe_loss"]
        self.history.append((step, loss))
        return loss
