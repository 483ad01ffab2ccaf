"""Forecasts of the first process on hours put aside."""

import copy
import logging
import time

import torch

from passages import FEATURES

log = logging.getLogger("forecast")


class Forecast:
    """Looks at a copy of the network every so many hours; needs nothing from the other processes."""

    def __init__(self, every, hours=150):
        self.every = every
        generator = torch.Generator().manual_seed(999)
        self.features = torch.randn(hours, 8, FEATURES, generator=generator)
        self.history = []

    def due(self, hour):
        return hour % self.every == self.every - 1

    @torch.no_grad()
    def run(self, network, hour):
        network = copy.deepcopy(network).eval()
        total = 0.0
        for features in self.features:
            total += float(network(features).sum())
            time.sleep(0.009)
        self.history.append(total / len(self.features))
        log.info("hour %d: %.2f", hour, self.history[-1])
