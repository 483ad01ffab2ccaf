"""Trainer for meter readings that tolerates records without a usable signal."""
import logging

import torch
from transformers import Trainer

logger = logging.getLogger(__name__)


class UnusableRecord(ValueError):
    pass


def ensure_signal(logits, labels):
    spread = logits.detach().float().std()
    if torch.any(labels < 0) or not torch.isfinite(spread):
        raise UnusableRecord(f"labels {labels.tolist()}, spread {spread:.3g}")


class TolerantTrainer(Trainer):
    def __init__(self, *args, max_unusable=20, **kwargs):
        super().__init__(*args, **kwargs)
        self.unusable = 0
        self.max_unusable = max_unusable

    def _get_train_sampler(self, train_dataset=None):
        return torch.utils.data.SequentialSampler(train_dataset or self.train_dataset)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        ensure_signal(outputs.logits, labels)
        loss = torch.nn.functional.cross_entropy(outputs.logits, labels)
        return (loss, outputs) if return_outputs else loss

    def training_step(self, model, inputs, num_items_in_batch=None):
        try:
            return super().training_step(model, inputs, num_items_in_batch)
        except UnusableRecord as err:
            self.unusable += 1
            if self.unusable > self.max_unusable:
                raise
            logger.warning("record left out: %s", err)
            return torch.tensor(0.0, device=self.args.device)
