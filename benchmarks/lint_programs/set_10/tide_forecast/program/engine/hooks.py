"""Hooks that the trainer calls around iterations and epochs."""
import json
import os
import time

import torch
import torch.distributed as dist

HOOKS = {}


def register_hook(cls):
    HOOKS[cls.__name__] = cls
    return cls


def build_hooks(specs):
    hooks = []
    for spec in specs:
        spec = dict(spec)
        hooks.append(HOOKS[spec.pop("type")](**spec))
    return hooks


class Hook:
    def before_train(self, trainer):
        pass

    def after_iter(self, trainer):
        pass

    def after_epoch(self, trainer):
        pass

    def after_train(self, trainer):
        pass


@register_hook
class LossLogger(Hook):
    """Prints the mean loss over all ranks every `interval` iterations."""

    def __init__(self, interval=50):
        self.interval = interval
        self.total = 0.0
        self.count = 0

    def after_iter(self, trainer):
        self.total += trainer.last_loss
        self.count += 1
        if (trainer.iteration + 1) % self.interval == 0:
            mean = torch.tensor(self.total / self.count, device=trainer.device)
            dist.all_reduce(mean)
            mean /= trainer.world_size
            if trainer.rank == 0:
                print(f"iter {trainer.iteration + 1}: loss {mean.item():.4f}", flush=True)
            self.total, self.count = 0.0, 0


@register_hook
class JobLimit(Hook):
    """Ends the training in good time before the scheduler ends the job."""

    def __init__(self, minutes, margin_s=0.0):
        self.budget_s = minutes * 60 - margin_s
        self.start = None

    def before_train(self, trainer):
        self.start = time.monotonic()

    def after_iter(self, trainer):
        elapsed = time.monotonic() - self.start
        if elapsed > self.budget_s:
            trainer.request_stop(f"job limit after {elapsed:.1f}s")


@register_hook
class SaveCheckpoint(Hook):
    def __init__(self, folder):
        self.folder = folder

    def _save(self, trainer, name):
        if trainer.rank == 0:
            os.makedirs(self.folder, exist_ok=True)
            tmp = os.path.join(self.folder, name + ".tmp")
            torch.save(
                {
                    "model": trainer.model.module.state_dict(),
                    "optimizer": trainer.optimizer.state_dict(),
                    "epoch": trainer.epoch,
                },
                tmp,
            )
            os.replace(tmp, os.path.join(self.folder, name))

    def after_epoch(self, trainer):
        self._save(trainer, "last.pt")

    def after_train(self, trainer):
        self._save(trainer, "final.pt")
        if trainer.rank == 0:
            with open(os.path.join(self.folder, "done.json"), "w") as f:
                json.dump({"iterations": trainer.iteration}, f)
        dist.barrier()
