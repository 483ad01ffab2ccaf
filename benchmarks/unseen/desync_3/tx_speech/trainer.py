import logging
import time

import torch
from corpus import BadHeader, unpack

log = logging.getLogger("speech")


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.steps = 0
        self.broken = 0

    def loss_of(self, frames):
        hidden = self.model(frames)
        return (hidden[1:] - frames[:-1]).square().mean()

    def step(self, header, frames):
        loss = self.loss_of(unpack(header, frames))
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.steps += 1
        return loss.item()

    def run(self, stream):
        total = 0.0
        for header, frames in stream:
            time.sleep(0.02)
            try:
                total += self.step(header, frames)
            except BadHeader as error:
                self.broken += 1
                log.warning("utterance left out: %s", error)
        return total / max(self.steps, 1)
