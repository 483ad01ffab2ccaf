import logging

import torch
from torch import nn

log = logging.getLogger(__name__)


class Fitter:
    """One optimizer step for each batch of invoices."""

    def __init__(self, accelerator, model, optimizer, schedule):
        self.accelerator = accelerator
        self.model = model
        self.optimizer = optimizer
        self.schedule = schedule
        self.left_out = 0

    def target(self, written):
        return torch.tensor([float(text) for text in written]).log()

    def fit(self, batch):
        try:
            guess = self.model(batch["lines"])
            loss = nn.functional.smooth_l1_loss(guess, self.target(batch["written"]))
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.schedule.step()
            self.optimizer.zero_grad()
        except ValueError as problem:
            log.warning("batch left out: %s", problem)
            self.left_out += 1
            return None
        return loss.item()
