import logging
from contextlib import nullcontext

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from clips import FRAMES, JOINTS, SIGNS

logger = logging.getLogger("signs")


def network(width=32):
    return nn.Sequential(nn.Linear(FRAMES * JOINTS, width), nn.ReLU(), nn.Linear(width, SIGNS))


class Trainer:
    """Sums the gradients of several micro-batches, and exchanges them with the last one."""

    def __init__(self, config):
        self.config = config
        torch.manual_seed(config.seed)
        self.model = DistributedDataParallel(network())
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=config.lr)
        self.right, self.total, self.updates = 0, 0, 0

    def train(self, loader, verbose):
        for number, clips in enumerate(loader, start=1):
            last = number % self.config.accumulate == 0
            if clips["visible"].mean() < self.config.min_visible:
                logger.info("micro-batch %d is too dark", number)
                continue
            with nullcontext() if last else self.model.no_sync():
                self.backward(clips)
            if last:
                self.update()
                if verbose and self.updates % 50 == 0:
                    logger.info("update %d: %.1f%% right", self.updates, 100 * self.right / self.total)

    def backward(self, clips):
        logits = self.model(clips["hands"])
        loss = nn.functional.cross_entropy(logits, clips["sign"]) / self.config.accumulate
        loss.backward()
        self.right += int((logits.argmax(dim=1) == clips["sign"]).sum())
        self.total += len(logits)

    def update(self):
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.updates += 1
