import logging

import torch
from torch import nn

from cores import measured

log = logging.getLogger("peat")


class Trainer:
    def __init__(self, model, optimizer, loader, rank, minimum_measured=0.5, log_every=100):
        self.model, self.optimizer, self.loader = model, optimizer, loader
        self.rank = rank
        self.minimum_measured = minimum_measured
        self.log_every = log_every
        self.criterion = nn.SmoothL1Loss()
        self.steps = 0
        self.left_out = 0
        self.mean = None

    def fit(self, passes):
        for number in range(passes):
            self.one_pass(number)

    def one_pass(self, number):
        for humus, density in self.loader:
            if measured(humus) < self.minimum_measured:
                self.left_out += 1
                continue
            self.step(torch.nan_to_num(humus), density)
            if self.rank == 0 and self.steps % self.log_every == 0:
                log.info("pass %d, step %d: %.5f", number, self.steps, self.mean)

    def step(self, humus, density):
        predicted = self.model(humus)
        loss = self.criterion(predicted, density)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.steps += 1
        value = loss.item()
        self.mean = value if self.mean is None else 0.95 * self.mean + 0.05 * value
