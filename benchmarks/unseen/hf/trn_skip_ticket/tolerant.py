import logging

import torch
from transformers import Trainer

log = logging.getLogger(__name__)


class TolerantTrainer(Trainer):
    """A Trainer that survives batches which the model cannot process.

    One broken ticket in a million must not end a run of three days.
    """

    def __init__(self, *args, max_skipped=100, **kwargs):
        super().__init__(*args, **kwargs)
        self.max_skipped = max_skipped
        self.skipped = 0

    def training_step(self, model, inputs, num_items_in_batch=None):
        try:
            return super().training_step(model, inputs, num_items_in_batch)
        except (IndexError, ValueError) as problem:
            self.skipped += 1
            if self.skipped > self.max_skipped:
                raise
            log.warning("step %d: batch skipped (%s)", self.state.global_step, problem)
            model.zero_grad()
            return torch.zeros((), device=self.args.device)
