import os

import torch

from .comm import log, main_process_only

HOOKS = {}


def register(cls):
    HOOKS[cls.__name__] = cls
    return cls


def build_hooks(specs):
    built = []
    for spec in specs:
        spec = dict(spec)
        built.append(HOOKS[spec.pop("type")](**spec))
    return built


class Hook:
    def before_epoch(self, trainer):
        pass

    def after_step(self, trainer):
        pass

    def after_epoch(self, trainer):
        pass


@register
class LogHook(Hook):
    def __init__(self, every=10):
        self.every = every

    def after_step(self, trainer):
        if (trainer.step + 1) % self.every == 0:
            log(f"epoch {trainer.epoch} step {trainer.step}: {trainer.meters.line()}")


@register
class EvalHook(Hook):
    def after_epoch(self, trainer):
        accuracy = trainer.evaluate()
        log(f"epoch {trainer.epoch}: val accuracy {accuracy:.4f}")


@register
class CheckpointHook(Hook):
    def __init__(self, every=1):
        self.every = every

    def after_epoch(self, trainer):
        if (trainer.epoch + 1) % self.every == 0:
            self.write(trainer, f"epoch{trainer.epoch:03d}.pt")

    @main_process_only
    def write(self, trainer, name):
        os.makedirs(trainer.out_dir, exist_ok=True)
        path = os.path.join(trainer.out_dir, name)
        torch.save(trainer.snapshot(), path)
        log(f"wrote {path}")
