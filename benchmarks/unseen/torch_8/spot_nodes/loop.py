import os
import signal
import tempfile
import time

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Notice:
    """Set by the node agent (SIGUSR1) when the machine will be reclaimed."""

    def __init__(self):
        self.received = False
        signal.signal(signal.SIGUSR1, self._on_signal)

    def _on_signal(self, signum, frame):
        self.received = True


class Trainer:
    def __init__(self, rank, steps, progress):
        self.rank, self.steps, self.progress = rank, steps, progress
        self.notice = Notice()
        self.step = 0
        torch.manual_seed(0)
        self.model = DDP(nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 2)))
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def save(self):
        path = os.path.join(tempfile.gettempdir(), f"spot_{os.getppid()}_{self.rank}.pt")
        torch.save({"step": self.step, "model": self.model.module.state_dict()}, path)

    def batch(self):
        g = torch.Generator().manual_seed(self.step * 31 + self.rank)
        x = torch.randn(8, 12, generator=g)
        return x, (x.sum(1) > 0).long()

    def fit(self):
        while self.step < self.steps:
            if self.notice.received:
                self.save()
                break
            x, y = self.batch()
            loss = nn.functional.cross_entropy(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.step += 1
            if self.rank == 0:
                self.progress.value = self.step
            time.sleep(0.05)
