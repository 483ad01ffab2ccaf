"""Looks at the held-out ledgers when training takes a sudden turn."""

import logging

from transformers import TrainerCallback

log = logging.getLogger(__name__)


class LossMeter:
    """The loss of the last step, and its average over the steps before."""

    def __init__(self, keep=0.9):
        self.keep = keep
        self.last = None
        self.average = None

    def add(self, loss):
        if self.last is not None:
            self.average = self.last if self.average is None else self.keep * self.average + (1 - self.keep) * self.last
        self.last = loss


class EvaluateAfterJump(TrainerCallback):
    """Asks for an evaluation when the loss is `factor` times its average and at least `floor`.

    Between two such evaluations there are at least `rest` steps.
    """

    def __init__(self, meter, factor=5.0, floor=2.5, warmup=20, rest=50):
        self.meter = meter
        self.factor = factor
        self.floor = floor
        self.next_step = warmup
        self.rest = rest

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step < self.next_step or self.meter.average is None:
            return control
        if self.meter.last > max(self.floor, self.factor * self.meter.average):
            log.warning("step %d: the loss jumped to %.2f", state.global_step, self.meter.last)
            control.should_evaluate = True
            self.next_step = state.global_step + self.rest
        return control
