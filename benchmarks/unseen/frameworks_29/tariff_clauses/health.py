"""Watches the embedding for dead rows (tokens that never move), the problem of our last two runs."""
import deepspeed
import torch


class EmbeddingHealth:
    def __init__(self, engine, every, print_fn):
        self.engine, self.every, self.print = engine, every, print_fn
        self.last = None

    def after_step(self, step):
        if step == 0 or step % self.every or self.engine.global_rank != 0:
            return
        moved = self.measure()
        if moved is not None:
            self.print(f"step {step}: {moved:.1%} of the embedding rows moved")

    def measure(self):
        table = self.engine.module.embed.weight
        with deepspeed.zero.GatheredParameters([table]):
            now = table.detach().clone()
        before, self.last = self.last, now
        if before is None:
            return None
        return ((now - before).norm(dim=1) > 1e-4).float().mean().item()
