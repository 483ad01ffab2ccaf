import queue
import threading
import time

import torch

FIBRES = 20


class Mill:
    """Sheets of one mill. A mill makes as many batches in a round as its vats hold."""

    def __init__(self, number, size):
        self.vats = (6, 14, 10)[number % 3]
        self.size = size
        self.g = torch.Generator().manual_seed(50 + number)
        self.rule = torch.randn(FIBRES, generator=torch.Generator().manual_seed(0)) / FIBRES**0.5

    def round(self):
        for _ in range(self.vats):
            fibres = torch.randn(self.size, FIBRES, generator=self.g)
            yield fibres, fibres @ self.rule + 0.1 * torch.randn(self.size, generator=self.g)


class Samples(threading.Thread):
    """Files a sample of every round, and takes its time. close() returns when all are filed."""

    def __init__(self, pause):
        super().__init__(name="samples")
        self.pause = pause
        self.inbox = queue.Queue()
        self.filed = []

    def put(self, sample):
        self.inbox.put(sample)

    def run(self):
        while (sample := self.inbox.get()) is not None:
            time.sleep(self.pause)
            self.filed.append(sample)

    def close(self):
        self.inbox.put(None)
        self.join()
