from typing import Iterable

import lightning as L
import torch
import torch.nn.functional as F


class Loop:
    def __init__(self, fabric: L.Fabric, model, optimizer, *, accum: int = 1, max_norm: float = 1.0):
        self.fabric = fabric
        self.model = model
        self.optimizer = optimizer
        self.accum = accum
        self.max_norm = max_norm
        self.updates = 0

    def _apply_gradients(self):
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.updates += 1
        return norm

    def _loss(self, batch):
        tokens, mask = batch
        logits = self.model(tokens[:, :-1])
        per_tok = F.cross_entropy(logits.transpose(1, 2).float(), tokens[:, 1:], reduction="none")
        m = mask[:, 1:].float()
        return (per_tok * m).sum() / m.sum().clamp(min=1)

    def run_epoch(self, loader: Iterable):
        self.model.train()
        last = len(loader) - len(loader) % self.accum
        for i, batch in enumerate(loader):
            if i == last:
                break
            boundary = (i + 1) % self.accum == 0
            with self.fabric.no_backward_sync(self.model, enabled=not boundary):
                loss = self._loss(batch)
                self.fabric.backward(loss / self.accum)
            if boundary:
                self._apply_gradients()
                if self.updates % 25 == 0:
                    mean = self.fabric.all_reduce(loss.detach(), reduce_op="mean")
                    self.fabric.print(f"update {self.updates:6d}  loss {mean.item():.4f}")

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        total = torch.zeros(2, device=self.fabric.device)
        for batch in loader:
            total += torch.stack([self._loss(batch), total.new_tensor(1.0)])
        total = self.fabric.all_reduce(total, reduce_op="sum")
        return (total[0] / total[1]).item()
