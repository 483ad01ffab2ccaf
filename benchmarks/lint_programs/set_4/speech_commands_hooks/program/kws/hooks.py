import os

import torch

from .dist_utils import master_only


class Registry(dict):
    def register(self, cls):
        self[cls.__name__] = cls
        return cls


HOOKS = Registry()


class Hook:
    def before_epoch(self, trainer): ...
    def after_step(self, trainer): ...
    def after_epoch(self, trainer): ...


@HOOKS.register
class SamplerSeedHook(Hook):
    def before_epoch(self, trainer):
        trainer.train_loader.sampler.set_epoch(trainer.epoch)


@HOOKS.register
class LogHook(Hook):
    interval = 10

    @master_only
    def after_step(self, trainer):
        if trainer.step % self.interval == 0:
            print(f"epoch {trainer.epoch} step {trainer.step} loss {trainer.last_loss:.4f}", flush=True)


@HOOKS.register
class BestCheckpointHook(Hook):
    def __init__(self):
        self.best = -1.0

    @master_only
    def after_epoch(self, trainer):
        accuracy = trainer.evaluate()
        print(f"epoch {trainer.epoch} accuracy {accuracy:.3f}", flush=True)
        if accuracy > self.best:
            self.best = accuracy
            os.makedirs(trainer.work_dir, exist_ok=True)
            torch.save(trainer.model.module.state_dict(), os.path.join(trainer.work_dir, "best.pt"))
