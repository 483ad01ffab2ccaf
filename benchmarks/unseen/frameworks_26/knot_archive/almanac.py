import logging

import deepspeed
import torch
from deepspeed import comm

log = logging.getLogger("knots")


class Almanac:
    """A page about the model every `every` steps: loss, and what has become of the words.

    The pages are written by the first process; the others go on together with it when a page is finished.
    """

    def __init__(self, engine, every):
        self.engine = engine
        self.every = every
        self.first = None
        self.losses = []

    def drift(self):
        table = self.engine.module.words.weight
        with deepspeed.zero.GatheredParameters([table]):
            now = table.detach().float().clone()
        if self.first is None:
            self.first = now
        return (now - self.first).norm(dim=1)

    def page(self, step):
        drift = self.drift()
        farthest = torch.topk(drift, 3).indices.tolist()
        mean = sum(self.losses) / len(self.losses)
        log.info("step %d: loss %.3f, drift %.4f, farthest words %s", step, mean, drift.mean().item(), farthest)

    def after_step(self, step, loss):
        self.losses.append(loss)
        if (step + 1) % self.every:
            return
        if comm.get_rank() == 0:
            self.page(step + 1)
        self.losses.clear()
        comm.barrier()
