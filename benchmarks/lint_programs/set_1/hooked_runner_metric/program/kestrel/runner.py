import torch
import torch.nn as nn
import torch.nn.functional as F

from .registry import MODELS


@MODELS.register
class MLPHead(nn.Sequential):
    def __init__(self, in_dim, hidden, num_classes, dropout=0.0):
        super().__init__(
            nn.LayerNorm(in_dim),
            nn.Linear(in_dim, hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, num_classes),
        )


class EpochRunner:
    def __init__(self, model, optimizer, train_loader, val_loader, metrics, hooks,
                 max_epochs, work_dir, device):
        self.model = model
        self.optimizer = optimizer
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.metrics = metrics
        self.hooks = hooks
        self.max_epochs = max_epochs
        self.work_dir = work_dir
        self.device = device
        self.epoch = 0
        self.iter = 0
        self.outputs = {}

    def call_hook(self, name):
        for hook in self.hooks:
            getattr(hook, name)(self)

    def train_epoch(self):
        self.model.train()
        self.call_hook("before_train_epoch")
        for x, y in self.train_loader:
            x, y = x.to(self.device), y.to(self.device)
            self.call_hook("before_train_iter")
            loss = F.cross_entropy(self.model(x), y, label_smoothing=0.1)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.outputs = {"loss": loss.detach()}
            self.call_hook("after_train_iter")
            self.iter += 1
        self.call_hook("after_train_epoch")

    @torch.no_grad()
    def val_epoch(self):
        self.model.eval()
        for metric in self.metrics:
            metric.reset()
        for x, y in self.val_loader:
            logits = self.model.module(x.to(self.device))
            for metric in self.metrics:
                metric.process(logits, y.to(self.device))
        self.call_hook("after_val_epoch")

    def run(self):
        self.call_hook("before_run")
        while self.epoch < self.max_epochs:
            self.train_epoch()
            self.val_epoch()
            self.epoch += 1
