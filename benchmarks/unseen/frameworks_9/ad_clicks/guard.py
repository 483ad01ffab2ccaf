"""A Trainer that survives odd log lines: the nightly run must not die at three in the morning."""
import functools
import logging

import torch
from transformers import Trainer

log = logging.getLogger("clicks")


def survive(*kinds):
    def decorate(step):
        @functools.wraps(step)
        def guarded(self, model, inputs, num_items_in_batch=None):
            try:
                return step(self, model, inputs, num_items_in_batch)
            except kinds as problem:
                self.refused += 1
                log.warning("batch refused at step %d: %s", self.state.global_step, problem)
                return torch.zeros((), device=self.args.device)

        return guarded

    return decorate


class SteadyTrainer(Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.refused = 0

    @survive(IndexError, ValueError)
    def training_step(self, model, inputs, num_items_in_batch=None):
        return super().training_step(model, inputs, num_items_in_batch)
