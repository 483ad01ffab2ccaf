"""Callbacks for the tuning runs."""

import logging
import statistics
from collections import deque

from transformers import TrainerCallback

log = logging.getLogger("watch")


class LossTape:
    """The last losses, written by the trainer and read by callbacks."""

    def __init__(self, length=40):
        self.values = deque(maxlen=length)

    def write(self, value):
        self.values.append(value)

    @property
    def last(self):
        return self.values[-1]

    def usual(self):
        return statistics.median(self.values)


class SecondOpinion(TrainerCallback):
    """Asks for an evaluation out of turn when the loss jumps, to see whether the model has been damaged."""

    def __init__(self, tape, factor=6.0, warmup=30, rest=50):
        self.tape = tape
        self.factor = factor
        self.warmup = warmup
        self.rest = rest
        self.asked = 0

    def jumped(self):
        return self.tape.last > self.factor * self.tape.usual()

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step < self.warmup or state.global_step - self.asked < self.rest:
            return control
        if self.jumped():
            log.warning("step %d: loss %.3f, usually %.3f", state.global_step, self.tape.last, self.tape.usual())
            self.asked = state.global_step
            control.should_evaluate = True
        return control

    def on_evaluate(self, args, state, control, metrics, **kwargs):
        if state.is_world_process_zero:
            log.info("step %d: %s", state.global_step, {k: round(v, 4) for k, v in metrics.items()})
