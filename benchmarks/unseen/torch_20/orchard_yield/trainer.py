"""A small trainer around DistributedDataParallel."""
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

log = logging.getLogger("orchard")


class Trainer:
    def __init__(self, model, lr, max_epochs, callbacks):
        self.rank = dist.get_rank()
        self.model = DDP(model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.max_epochs = max_epochs
        self.callbacks = callbacks
        self.epoch = 0
        self.stop_reason = None

    def request_stop(self, reason):
        self.stop_reason = reason

    def train_epoch(self, loader):
        self.model.train()
        total = 0.0
        for x, y in loader:
            loss = nn.functional.mse_loss(self.model(x).squeeze(1), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
            time.sleep(0.005)
        return total / len(loader)

    @torch.no_grad()
    def validate(self, data):
        self.model.eval()
        x, y = data
        return nn.functional.mse_loss(self.model.module(x).squeeze(1), y).sqrt().item()

    def fit(self, loader, held_out):
        for callback in self.callbacks:
            callback.on_fit_start(self)
        for self.epoch in range(self.max_epochs):
            metrics = {"train": self.train_epoch(loader), "rmse": self.validate(held_out)}
            for callback in self.callbacks:
                callback.on_epoch_end(self, metrics)
            if self.stop_reason is not None:
                break
        self.finish()

    def finish(self):
        """All processes leave together, so that the first one can read the others' logs."""
        dist.barrier()
        if self.rank == 0:
            log.info("finished in epoch %d: %s", self.epoch, self.stop_reason or "last epoch")
