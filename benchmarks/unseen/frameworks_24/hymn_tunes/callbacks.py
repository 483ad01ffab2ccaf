from collections import deque

from transformers import TrainerCallback


class LossMeter:
    """Losses of the last steps, for everything that wants to look at them."""

    def __init__(self, window):
        self.values = deque(maxlen=window)

    def add(self, value):
        self.values.append(value)

    @property
    def last(self):
        return self.values[-1]

    @property
    def usual(self):
        before = list(self.values)[:-1]
        return sum(before) / len(before)


class EvaluateAfterSpike(TrainerCallback):
    """Evaluates right away when the loss jumps, to see whether the weights have suffered."""

    def __init__(self, meter, factor=4.0, quiet_steps=25):
        self.meter = meter
        self.factor = factor
        self.quiet_steps = quiet_steps
        self.last_seen = 0

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step - self.last_seen < self.quiet_steps:
            return control
        if self.meter.last > self.factor * self.meter.usual:
            self.last_seen = state.global_step
            control.should_evaluate = True
        return control
