from contextlib import nullcontext

import torch
import torch.nn.functional as F

PAD = 0


class TokenBudget:
    """Gradient accumulation by tokens: an update comes after `budget` real tokens, whatever the batches hold."""

    def __init__(self, model, optimizer, budget):
        self.model = model
        self.optimizer = optimizer
        self.budget = budget
        self.tokens = 0
        self.updates = 0

    def _finish(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.tokens = 0
        self.updates += 1

    def feed(self, ids):
        source, target = ids[:, :-1], ids[:, 1:]
        self.tokens += int((target != PAD).sum())
        complete = self.tokens >= self.budget
        with nullcontext() if complete else self.model.no_sync():
            logits = self.model(source)
            loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD)
            loss.backward()
        if complete:
            self._finish()
        return loss.detach()
