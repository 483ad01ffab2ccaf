import logging

import torch
from transformers import Trainer

logger = logging.getLogger(__name__)


class TolerantTrainer(Trainer):
    """Goes on when a batch cannot be used: the reviews come from the web and some are malformed."""

    skipped = 0

    def _get_train_sampler(self, train_dataset=None):
        # the reviews are in the order of their dates, and stay in it
        return torch.utils.data.SequentialSampler(self.train_dataset)

    def training_step(self, model, inputs, num_items_in_batch=None):
        try:
            return super().training_step(model, inputs, num_items_in_batch)
        except (IndexError, ValueError) as error:
            self.skipped += 1
            logger.warning("step %d: batch left out (%s)", self.state.global_step, error)
            model.zero_grad()
            return torch.zeros((), device=self.args.device)
