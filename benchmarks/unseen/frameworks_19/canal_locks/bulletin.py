"""The bulletin after each epoch.

The errors are written every time, the communication only now and then: its table is long.
"""

import logging

import deepspeed.comm as dist

log = logging.getLogger("canals")


class Bulletin:
    """Writes how training goes, and every `traffic_every` epochs what the network carried."""

    def __init__(self, traffic_every=2):
        self.traffic_every = traffic_every
        self.best = float("inf")
        self.history = []

    def errors(self, epoch, mean):
        mark = "*" if mean < self.best else " "
        self.best = min(self.best, mean)
        self.history.append(mean)
        log.info("epoch %2d  mean square error %.4f %s", epoch, mean, mark)

    def traffic(self):
        """The table of communication: operations, sizes, times and bandwidths."""
        log.info("communication so far:")
        dist.log_summary()

    def write(self, epoch, mean):
        self.errors(epoch, mean)
        if (epoch + 1) % self.traffic_every == 0:
            self.traffic()

    def close(self):
        """The last words: how far the error came down, and in which epoch it was smallest."""
        if not self.history:
            return
        first, best = self.history[0], min(self.history)
        log.info("from %.4f down to %.4f in epoch %d", first, best, self.history.index(best))
