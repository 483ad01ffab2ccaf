import logging
from collections import deque

import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import SGD

log = logging.getLogger("tram")


class Recent:
    """The losses of the last batches."""

    def __init__(self, window, enough):
        self.losses = deque(maxlen=window)
        self.enough = enough

    def add(self, loss):
        self.losses.append(loss)

    def clear(self):
        self.losses.clear()

    def settled(self):
        full = len(self.losses) == self.losses.maxlen
        return full and sum(self.losses) / len(self.losses) < self.enough


class Trainer:
    def __init__(self, network, loader, options):
        self.model = DistributedDataParallel(network)
        self.loader, self.options = loader, options
        self.optimizer = SGD(self.model.parameters(), lr=options.lr)
        self.criterion = nn.MSELoss()
        self.recent = Recent(options.window, options.enough)
        self.epoch = 0

    def fit(self):
        for self.epoch in range(self.options.epochs):
            self.loader.dataset.set_round(self.epoch)
            self.recent.clear()
            loss = self.one_epoch()
            if dist.get_rank() == 0:
                log.info("epoch %d: loss %.3f", self.epoch, loss)
        dist.barrier()

    def one_epoch(self):
        """Goes through the loader, as far as there is something left to learn from it."""
        total, batches = 0.0, 0
        for features, delay in self.loader:
            loss = self.criterion(self.model(features).squeeze(1), delay)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total, batches = total + loss.item(), batches + 1
            self.recent.add(loss.item())
            if self.recent.settled():
                break
        return total / batches
