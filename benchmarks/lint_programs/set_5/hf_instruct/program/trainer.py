import torch
import torch.nn.functional as F
from transformers import Trainer

from data import IGNORE


class AnswerTrainer(Trainer):
    """Causal LM loss in which the first tokens of an answer count more: they decide the rest."""

    def __init__(self, *args, lead_tokens=8, lead_weight=2.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.lead_tokens = lead_tokens
        self.lead_weight = lead_weight

    def token_weights(self, labels, answer_start):
        offset = torch.arange(labels.size(1), device=labels.device)[None] - answer_start[:, None]
        lead = (offset >= 0) & (offset < self.lead_tokens)
        return torch.where(lead, self.lead_weight, 1.0)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        weights = self.token_weights(labels, inputs.pop("answer_start"))[:, 1:]
        outputs = model(**inputs)
        logits, target = outputs.logits[:, :-1], labels[:, 1:]
        nll = F.cross_entropy(logits.flatten(0, 1).float(), target.flatten(), ignore_index=IGNORE, reduction="none")
        total = (nll * weights.flatten()).sum()
        if num_items_in_batch is None:
            loss = total / (target != IGNORE).sum()
        else:
            loss = total / num_items_in_batch
        return (loss, outputs) if return_outputs else loss
