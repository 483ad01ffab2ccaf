import copy
import logging
import threading
import time

import torch

logger = logging.getLogger(__name__)


class Heartbeat:
    """Says every few seconds that the worker is alive; the cluster's watchdog greps for it."""

    def __init__(self, label, period=2.0):
        self.label, self.period = label, period
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def _beat(self):
        while not self._stop.wait(self.period):
            logger.info("%s alive", self.label)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self._stop.set()
        self._thread.join()


def successive_halving(module, batches, loss_fn, rates, rung_seconds):
    """Trains copies with different learning rates and drops the worse half after each rung."""
    alive = [(rate, copy.deepcopy(module)) for rate in rates]
    while len(alive) > 1:
        scored = []
        for rate, candidate in alive:
            optimizer = torch.optim.SGD(candidate.parameters(), lr=rate)
            until = time.monotonic() + rung_seconds
            last = float("inf")
            while time.monotonic() < until:
                for x, y in batches:
                    optimizer.zero_grad()
                    loss = loss_fn(candidate(x), y)
                    loss.backward()
                    optimizer.step()
                    last = loss.item()
                    time.sleep(0.005)
            scored.append((last, rate, candidate))
        scored.sort(key=lambda row: row[0])
        alive = [(rate, candidate) for _, rate, candidate in scored[: len(scored) // 2]]
    return alive[0][0]
