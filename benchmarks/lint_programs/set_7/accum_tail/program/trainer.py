import contextlib
import math

import torch
import torch.distributed as dist
import torch.nn as nn


class Trainer:
    def __init__(self, model, optimizer, scheduler, loader, device, accum=1, clip=1.0):
        self.model, self.optimizer, self.scheduler = model, optimizer, scheduler
        self.loader, self.device = loader, device
        self.accum, self.clip = accum, clip
        self.world = dist.get_world_size()
        self.criterion = nn.CrossEntropyLoss()

    @property
    def updates_per_epoch(self):
        return math.ceil(len(self.loader) / self.accum)

    def window_size(self, i):
        """Number of micro batches in the window batch `i` belongs to."""
        first = i - i % self.accum
        return min(self.accum, len(self.loader) - first)

    def gradient_context(self, i):
        """All-reduce the gradients with the last micro batch of a window only."""
        if (i + 1) % self.accum != 0:
            return self.model.no_sync()
        return contextlib.nullcontext()

    def update(self):
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        self.scheduler.step()
        self.optimizer.zero_grad(set_to_none=True)
        return norm

    def run_epoch(self, epoch):
        self.model.train()
        self.loader.sampler.set_epoch(epoch)
        total = torch.zeros((), device=self.device)
        for i, (x, y) in enumerate(self.loader):
            x, y = x.to(self.device), y.to(self.device)
            with self.gradient_context(i):
                loss = self.criterion(self.model(x), y)
                (loss / self.window_size(i)).backward()
            total += loss.detach()
            if (i + 1) % self.accum == 0 or i + 1 == len(self.loader):
                self.update()
        dist.all_reduce(total)
        return total.item() / (len(self.loader) * self.world)

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        hits = torch.zeros(2, device=self.device)
        for x, y in loader:
            pred = self.model(x.to(self.device)).argmax(-1)
            hits[0] += (pred == y.to(self.device)).sum()
            hits[1] += len(y)
        dist.all_reduce(hits)
        return (hits[0] / hits[1]).item()
