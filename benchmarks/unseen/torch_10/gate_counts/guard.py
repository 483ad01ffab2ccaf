"""Recovery from loss spikes: keep a good copy of the weights, and go back to it."""

import copy
import logging

import torch
import torch.distributed as dist

log = logging.getLogger("gates")


class SpikeGuard:
    def __init__(self, model, optimizer, factor=6.0, decay=0.9, patience=20, keep_every=25):
        self.model = model
        self.optimizer = optimizer
        self.factor, self.decay = factor, decay
        self.patience, self.keep_every = patience, keep_every
        self.average = None
        self.seen = 0
        self._keep()

    def _keep(self):
        self.kept = copy.deepcopy(self.model.state_dict())
        self.kept_optimizer = copy.deepcopy(self.optimizer.state_dict())

    def _spiked(self, loss):
        return self.seen > self.patience and loss > self.factor * self.average

    def after_step(self, loss):
        if self._spiked(loss):
            log.warning("loss %.3f after an average of %.3f, going back", loss, self.average)
            self.restore()
            return
        self.average = loss if self.average is None else self.decay * self.average + (1 - self.decay) * loss
        self.seen += 1
        if self.seen % self.keep_every == 0:
            self._keep()

    @torch.no_grad()
    def restore(self):
        self.model.load_state_dict(self.kept)
        self.optimizer.load_state_dict(self.kept_optimizer)
        for parameter in self.model.parameters():
            dist.broadcast(parameter, src=0)
