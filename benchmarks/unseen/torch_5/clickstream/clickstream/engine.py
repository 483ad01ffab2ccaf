import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Scorer(nn.Module):
    def __init__(self, items=200, dim=16):
        super().__init__()
        self.items = nn.Embedding(items, dim)
        self.tower = nn.Sequential(nn.Linear(dim * 2, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, history, candidate):
        seen = self.items(history).mean(1)
        return self.tower(torch.cat([seen, self.items(candidate)], 1)).squeeze(1)


class Engine:
    """Runs the steps; everything else is a hook."""

    def __init__(self, cfg, rank):
        torch.manual_seed(cfg.seed)
        self.cfg = cfg
        self.rank = rank
        self.model = DistributedDataParallel(Scorer(cfg.items))
        self.optim = torch.optim.Adagrad(self.model.parameters(), lr=cfg.lr)
        self.step = 0
        self.last = {}
        self._hooks = []

    def attach(self, hook):
        self._hooks.append(hook)
        hook.engine = self
        return self

    def emit(self, event):
        for hook in self._hooks:
            getattr(hook, event)()

    def run(self, sessions):
        self.emit("before_run")
        for history, candidate, clicked in sessions:
            self.step += 1
            scores = self.model(history, candidate)
            loss = F.binary_cross_entropy_with_logits(scores, clicked)
            self.optim.zero_grad()
            loss.backward()
            self.optim.step()
            self.last = {"loss": float(loss), "scores": scores.detach()}
            time.sleep(0.02)
            self.emit("after_step")
        self.emit("after_run")
