import os

import torch
import torch.distributed as dist

from model import set_trainable

REGISTRY = {}


def hook(name):
    def add(cls):
        REGISTRY[name] = cls
        return cls
    return add


class Base:
    def before_epoch(self, engine):
        pass

    def after_epoch(self, engine):
        pass


@hook("unfreeze")
class Unfreeze(Base):
    """Lets the named parts train from an epoch on."""

    def __init__(self, at_epoch, prefixes):
        self.at_epoch, self.prefixes = at_epoch, prefixes

    def before_epoch(self, engine):
        if engine.epoch == self.at_epoch:
            n = set_trainable(engine.net, self.prefixes, True)
            engine.say(f"epoch {engine.epoch}: {n} more parameters train")


@hook("log")
class Log(Base):
    def after_epoch(self, engine):
        accuracy = engine.evaluate()
        engine.say(f"epoch {engine.epoch}: loss {engine.loss:.4f} accuracy {accuracy:.3f}")


@hook("checkpoint")
class Checkpoint(Base):
    def after_epoch(self, engine):
        if dist.get_rank() == 0:
            os.makedirs(engine.cfg["out"], exist_ok=True)
            torch.save({"model": engine.net.state_dict(), "epoch": engine.epoch},
                       os.path.join(engine.cfg["out"], "last.pt"))
        dist.barrier()


def build(specs):
    return [REGISTRY[s["type"]](**{k: v for k, v in s.items() if k != "type"}) for s in specs]
