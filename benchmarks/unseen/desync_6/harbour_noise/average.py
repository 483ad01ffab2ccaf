"""A slow average of the weights over all hydrophones, kept up to date in the background."""

import logging
import queue
import threading
import time

import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector

log = logging.getLogger("noise")


class BackgroundAverage:
    """Every few steps the weights are handed over; a thread averages them and adds them to the slow copy."""

    def __init__(self, network, every, start, decay=0.9, sketch=False):
        self.network, self.every, self.start = network, every, start
        self.decay, self.sketch = decay, sketch
        self.slow = parameters_to_vector(network.parameters()).detach().clone()
        self.jobs = queue.Queue()
        self.sketches = []
        self.thread = threading.Thread(target=self.work, name="slow-average")
        self.thread.start()

    def step(self, number):
        if number >= self.start and number % self.every == 0:
            self.jobs.put(parameters_to_vector(self.network.parameters()).detach().clone())

    def work(self):
        while (weights := self.jobs.get()) is not None:
            if self.sketch:
                self.draw(weights)
            dist.all_reduce(weights)
            weights /= dist.get_world_size()
            self.slow.mul_(self.decay).add_(weights, alpha=1 - self.decay)

    def draw(self, weights):
        """A coarse picture of how the weights are spread, for the page of the project."""
        rows = []
        for bins in range(10, 40):
            rows.append(torch.histc(weights, bins).tolist())
            time.sleep(0.006)
        self.sketches.append(rows)

    def close(self):
        self.jobs.put(None)
        self.thread.join()
        return self.slow
