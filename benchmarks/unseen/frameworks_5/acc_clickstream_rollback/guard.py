"""Keeps a recent copy of the weights and goes back to it after a loss spike."""
import copy
import logging

log = logging.getLogger(__name__)


class SpikeGuard:
    def __init__(self, accelerator, model, factor=8.0, warmup=5, decay=0.9, keep_every=4):
        self.accelerator = accelerator
        self.model = model
        self.factor = factor
        self.warmup = warmup
        self.decay = decay
        self.keep_every = keep_every
        self.average = None
        self.seen = 0
        self.snapshot = None

    def observe(self, value):
        """Returns True if the weights were put back."""
        self.seen += 1
        if self.average is None:
            self.average = value
        if self.seen > self.warmup and value > self.factor * self.average:
            log.warning("loss %.3f against an average of %.3f", value, self.average)
            self.rollback()
            return True
        self.average = self.decay * self.average + (1 - self.decay) * value
        if self.seen % self.keep_every == 0:
            self.snapshot = copy.deepcopy(self._weights())
        return False

    def rollback(self):
        self.accelerator.wait_for_everyone()  # finish the step that is under way
        if self.snapshot is not None:
            self.accelerator.unwrap_model(self.model).load_state_dict(self.snapshot)
        self.accelerator.wait_for_everyone()  # nobody continues on old weights

    def _weights(self):
        return self.accelerator.unwrap_model(self.model).state_dict()
