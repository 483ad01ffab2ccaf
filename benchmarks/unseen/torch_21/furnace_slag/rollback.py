"""Takes training back to an earlier state when the loss runs away."""
import copy
import logging

import torch
import torch.distributed as dist

log = logging.getLogger("rollback")


class Rollback:
    """Watches the loss; a loss far above its own running mean means that the last steps have ruined the weights.

    A snapshot of weights and optimizer is taken every `every` steps. After a rollback the weights come from process 0,
    so that rounding in the snapshots cannot let the replicas drift apart.
    """

    def __init__(self, model, optimizer, every=40, factor=25.0, warmup=60):
        self.model = model
        self.optimizer = optimizer
        self.every = every
        self.factor = factor
        self.warmup = warmup
        self.mean = None
        self.steps = 0
        self.rollbacks = 0
        self.snapshot()

    def snapshot(self):
        self.saved = copy.deepcopy((self.model.state_dict(), self.optimizer.state_dict()))

    @torch.no_grad()
    def restore(self):
        weights, state = self.saved
        self.model.load_state_dict(weights)
        self.optimizer.load_state_dict(copy.deepcopy(state))
        for parameter in self.model.parameters():
            dist.broadcast(parameter.data, src=0)
        self.rollbacks += 1

    def after_step(self, loss):
        self.steps += 1
        if self.steps > self.warmup and loss > self.factor * self.mean:
            log.warning("step %d: loss %.3g with a mean of %.3g, going back", self.steps, loss, self.mean)
            self.restore()
            return
        self.mean = loss if self.mean is None else 0.97 * self.mean + 0.03 * loss
        if self.steps % self.every == 0:
            self.snapshot()
