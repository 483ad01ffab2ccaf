"""Callbacks of the trainer. All of them get the trainer; those that write exist on the first process only."""
import io

import torch
import torch.distributed as dist

from patches import KINDS


class Callback:
    def on_step(self, trainer, step):
        pass

    def on_epoch(self, trainer, epoch):
        pass


class Progress(Callback):
    def on_step(self, trainer, step):
        if step % 50 == 0:
            print(f"step {step} loss {trainer.loss:.3f}", flush=True)


class Gallery(Callback):
    """A page with the patches about which the model is least sure, with their kinds and the weights of these."""

    def __init__(self, every, rows=6):
        self.every = every
        self.rows = rows
        self.pages = []

    @torch.no_grad()
    def on_step(self, trainer, step):
        if step % self.every:
            return
        sample = trainer.patches.pixels[:200]
        sure = trainer.model.module(sample).softmax(-1).max(-1).values
        page = io.StringIO()
        for index in sure.argsort()[: self.rows].tolist():
            kind = int(trainer.patches.kind[index])
            page.write(f"{index}: {KINDS[kind]} ({sure[index]:.2f}), weight {trainer.patches.balance[kind]:.2f}\n")
        self.pages.append(page.getvalue())


class Validation(Callback):
    @torch.no_grad()
    def on_epoch(self, trainer, epoch):
        guess = trainer.model.module(trainer.patches.pixels).argmax(-1)
        accuracy = trainer.patches.weighted_accuracy(guess)
        dist.all_reduce(accuracy)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} weighted accuracy {accuracy.item() / dist.get_world_size():.3f}", flush=True)
