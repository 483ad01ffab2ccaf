import time

from transformers import TrainerCallback


class ProbeOnSpike(TrainerCallback):
    """Have the model evaluated as soon as the loss jumps, to see whether it has diverged."""

    def __init__(self, factor=6.0, warmup=10):
        self.factor, self.warmup = factor, warmup
        self.average = None
        self.trainer = None

    def bind(self, trainer):
        self.trainer = trainer
        return self

    def on_step_end(self, args, state, control, **kwargs):
        time.sleep(0.02)
        now = self.trainer.step_loss
        calm = self.average is None or now < self.factor * self.average
        self.average = now if self.average is None else 0.9 * self.average + 0.1 * now
        if state.global_step > self.warmup and not calm:
            control.should_evaluate = True
        return control
