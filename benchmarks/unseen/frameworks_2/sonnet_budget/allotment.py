import contextlib
import time

from transformers import TrainerCallback


class Allotment:
    """The time that the project may use. Only training is charged for, not the preparation of data."""

    def __init__(self, minutes):
        self.seconds = 60 * minutes
        self.total = 0.0
        self.since = None

    @contextlib.contextmanager
    def charged(self):
        self.since = time.monotonic()
        try:
            yield self
        finally:
            self.total += time.monotonic() - self.since
            self.since = None

    def used(self):
        running = time.monotonic() - self.since if self.since is not None else 0.0
        return self.total + running


class AllotmentCallback(TrainerCallback):
    def __init__(self, allotment):
        self.allotment = allotment

    def on_step_end(self, args, state, control, **kwargs):
        time.sleep(0.04)
        if self.allotment.used() > self.allotment.seconds:
            control.should_training_stop = True
        return control
