"""Periodic looks into the weights."""
from dataclasses import dataclass
from typing import Callable

import torch
import torch.distributed as dist

PROBES = {}


@dataclass
class Probe:
    every: int
    fn: Callable

    def due(self, step):
        return step > 0 and step % self.every == 0


def probe(every):
    def register(fn):
        PROBES[fn.__name__] = Probe(every, fn)
        return fn
    return register


@probe(every=10)
def loss_scale(model, loss):
    return {"loss": float(loss)}


@probe(every=35)
def spectrum(model, loss):
    out = {}
    for name, p in model.named_parameters():
        if p.ndim == 2 and hasattr(p, "full_tensor"):
            w = p.detach().full_tensor()
            out[name] = float(torch.linalg.matrix_norm(w, 2))
    return out


def look(model, loss, step, reporter=0):
    if dist.get_rank() != reporter:
        return
    for name, p in PROBES.items():
        if p.due(step):
            print(step, name, p.fn(model, loss), flush=True)
