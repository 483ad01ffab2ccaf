import time

import torch
from torch import nn


class DemandLoop:
    """One pass over the sales rows per call; the loss is a mean over rows of all processes."""

    def __init__(self, accelerator, model, optimizer, loader):
        self.accelerator = accelerator
        self.model = model
        self.optimizer = optimizer
        self.loader = loader
        self.criterion = nn.PoissonNLLLoss(log_input=True, reduction="none")
        self.rows = 0

    def _step(self, x, units):
        losses = self.criterion(self.model(x), units)
        self.optimizer.zero_grad()
        self.accelerator.backward(losses.mean())
        self.accelerator.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return losses.detach()

    def run_epoch(self) -> float:
        self.model.train()
        totals = torch.zeros(1, 2)
        with self.accelerator.join_uneven_inputs([self.model], even_batches=False):
            for x, units in self.loader:
                time.sleep(0.04)  # price and weather look-ups
                losses = self._step(x, units)
                totals += torch.tensor([[losses.sum().item(), len(losses)]])
        return self._summary(totals)

    def _summary(self, totals):
        everyone = self.accelerator.gather(totals).sum(dim=0)
        self.rows = int(everyone[1])
        return (everyone[0] / everyone[1]).item()
