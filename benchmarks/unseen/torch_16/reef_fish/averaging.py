"""Weights averaged over the later part of training, and reports of how they do."""
import contextlib
import json
import logging

import torch
from torch.optim.swa_utils import update_bn

from data import calibration

log = logging.getLogger("reef")


class WeightAverage:
    def __init__(self, module, begin):
        self.module = module
        self.begin = begin
        self.count = 0
        self.mean = {}

    def add(self, epoch):
        if epoch < self.begin:
            return
        self.count += 1
        for name, value in self.module.named_parameters():
            kept = self.mean.setdefault(name, value.detach().clone())
            kept.lerp_(value.detach(), 1.0 / self.count)

    @contextlib.contextmanager
    def in_place(self):
        """Puts the average into the model, and the trained weights and buffers back afterwards."""
        kept = {name: value.clone() for name, value in self.module.state_dict().items()}
        self.module.load_state_dict(self.mean, strict=False)
        try:
            yield
        finally:
            self.module.load_state_dict(kept)


class Reporter:
    """Scores the averaged weights; the statistics of the batch norms are those of other weights and are taken anew."""

    def __init__(self, model, average, every, writer):
        self.model = model
        self.average = average
        self.every = every
        self.writer = writer
        self.lines = []

    def end_epoch(self, epoch, train, held_out):
        if self.average.count == 0 or (epoch + 1) % self.every:
            return
        if self.writer:
            with self.average.in_place():
                update_bn(calibration(train, 8), self.model)
                self.lines.append({"epoch": epoch, "error": self.error(held_out)})
            log.info("%s", json.dumps(self.lines[-1]))

    @torch.no_grad()
    def error(self, held_out):
        module = self.average.module.eval()
        total = sum((module(video) - abundance).square().mean().item() for video, abundance in held_out)
        module.train()
        return total / len(held_out)
