import functools
import logging

import torch.nn.functional as F

from .mining import batch_hard, pairwise

log = logging.getLogger("reid.engine")


def tolerant(*errors):
    """Do not lose a night's run for one odd batch: log it and go on."""
    def wrap(fn):
        @functools.wraps(fn)
        def inner(self, *args):
            try:
                return fn(self, *args)
            except errors as err:
                self.dropped += 1
                log.warning("batch dropped (%d so far): %s", self.dropped, err)
                return None
        return inner
    return wrap


class Trainer:
    def __init__(self, model, optimizer, margin):
        self.model, self.optimizer, self.margin = model, optimizer, margin
        self.dropped = 0

    @tolerant(ValueError, FloatingPointError)
    def step(self, images, pids):
        self.optimizer.zero_grad()
        feats = self.model(images)
        pos, neg = batch_hard(pairwise(feats), pids)
        loss = F.relu(pos - neg + self.margin).mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()
