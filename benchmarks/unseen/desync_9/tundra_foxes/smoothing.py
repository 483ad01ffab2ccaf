"""Smoothing of the weights over regions and time, beside the training."""

import queue
import threading
import time

import torch
import torch.distributed as dist


class Smoother:
    """A thread that scores weights on every collar of the region and averages them over the regions.

    The trainer only puts a copy down and goes on; the average is used for the maps after the training.
    """

    def __init__(self, region, decay=0.9):
        self.region, self.decay = region, decay
        self.waiting, self.smooth, self.rounds = queue.Queue(), None, 0
        self.thread = threading.Thread(target=self.run, name="smoother", daemon=True)
        self.thread.start()

    def score(self, weights):
        scores = []
        for collar in range(self.region.collars):
            generator = torch.Generator().manual_seed(collar)
            scores.append(float(weights @ torch.randn(len(weights), generator=generator)))
            time.sleep(0.0018)
        return torch.tensor(scores).std()

    def run(self):
        while (weights := self.waiting.get()) is not None:
            spread = self.score(weights)
            share = weights / (1 + spread)
            dist.all_reduce(share)
            if self.smooth is None:
                self.smooth = share
            self.smooth = self.decay * self.smooth + (1 - self.decay) * share
            self.rounds += 1

    def put(self, weights):
        self.waiting.put(weights.clone())

    def close(self):
        self.waiting.put(None)
        self.thread.join()
        return self.smooth
