from collections import deque

from transformers import TrainerCallback


class LossTape:
    """The last training losses of this process."""

    def __init__(self, window: int):
        self.values = deque(maxlen=window)
        self.last = None

    def write(self, value: float):
        if self.last is not None:
            self.values.append(self.last)
        self.last = value

    @property
    def ready(self) -> bool:
        return len(self.values) == self.values.maxlen

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.values)


class EvaluateOnSpike(TrainerCallback):
    """Looks at the validation hours right away when the training loss jumps, to tell bad data from divergence."""

    def __init__(self, tape: LossTape, factor: float):
        self.tape = tape
        self.factor = factor
        self.spikes = []

    def on_step_end(self, args, state, control, **kwargs):
        if not self.tape.ready:
            return control
        ratio = self.tape.last / self.tape.mean
        if ratio > self.factor:
            self.spikes.append((state.global_step, ratio))
            control.should_evaluate = True
        return control

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        if self.spikes and state.is_world_process_zero:
            step, ratio = self.spikes[-1]
            print(f"spike x{ratio:.0f} at step {step}: eval loss {metrics['eval_loss']:.4f}")
