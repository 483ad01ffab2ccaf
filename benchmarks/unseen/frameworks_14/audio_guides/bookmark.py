"""A place in a stateful loader to which the reading returns."""

import copy
import logging

log = logging.getLogger("bookmark")


class Bookmark:
    """Remembers where the reading was once `words` words had been read.

    Up to there the guides only serve to warm the model up. The second reading begins at the bookmark, so that it
    leaves out what has served its purpose.
    """

    def __init__(self, words):
        self.words = words
        self.read = 0
        self.state = None

    def pass_over(self, loader, lengths):
        self.read += int(lengths.sum())
        if self.state is None and self.read >= self.words:
            self.state = copy.deepcopy(loader.state_dict())
            log.info("bookmark after %d words", self.read)

    def open(self, loader):
        """Sets the loader to the bookmark; without one the guides are read from the beginning."""
        if self.state is not None:
            loader.load_state_dict(self.state)
        return loader


class Pace:
    """A learning rate that rises during the first reading and falls during the second."""

    def __init__(self, optimizer, peak, rise):
        self.optimizer = optimizer
        self.peak = peak
        self.rise = rise
        self.steps = 0

    def step(self):
        self.steps += 1
        if self.steps <= self.rise:
            rate = self.peak * self.steps / self.rise
        else:
            rate = self.peak * (self.rise / self.steps) ** 0.5
        for group in self.optimizer.param_groups:
            group["lr"] = rate
