"""The network of the glaze, with its own optimization."""

import contextlib

import lightning as L
import torch
from torch import nn

from data import POINTS


class Spikes:
    """Knows the usual loss, and which one is a spike."""

    def __init__(self, factor, warmup):
        self.factor, self.warmup = factor, warmup
        self.usual, self.seen = None, 0

    def check(self, loss):
        self.seen += 1
        spike = self.seen > self.warmup and loss > self.factor * self.usual
        if self.usual is None:
            self.usual = loss
        elif not spike:
            self.usual = 0.95 * self.usual + 0.05 * loss
        return spike


class Glaze(L.LightningModule):
    """A spike's gradient is kept and mixed with that of the next batch before the weights change."""

    def __init__(self, width=40, lr=0.02):
        super().__init__()
        self.automatic_optimization = False
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(POINTS, width), nn.ReLU(), nn.Linear(width, 1))
        self.spikes = Spikes(factor=30, warmup=40)

    def training_step(self, batch, batch_idx):
        curves, gloss = batch
        loss = nn.functional.mse_loss(self.net(curves).squeeze(-1), gloss)
        hold = self.spikes.check(loss.item())
        with self.trainer.strategy.block_backward_sync() if hold else contextlib.nullcontext():
            self.manual_backward(loss / 10 if hold else loss)
        if not hold:
            self.apply_gradients()
        return {"loss": loss.detach()}

    def apply_gradients(self):
        optimizer = self.optimizers()
        self.clip_gradients(optimizer, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
        optimizer.step()
        optimizer.zero_grad()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr)
