"""Which cells of the map have been seen, over all boats."""

import logging
import queue
import threading
import time

import torch
import torch.distributed as dist

log = logging.getLogger("sonar")


class Coverage:
    """Adds up the boats' counts of each cell, in a thread and in a process group of its own.

    Every boat hands over the same number of counts, so the reductions of the threads pair up
    whatever the boats' training is doing meanwhile.
    """

    def __init__(self, cells, render):
        self.group = dist.new_group()
        self.total = torch.zeros(cells)
        self.render = render
        self.counts = queue.Queue()
        self.rendered = 0
        self.thread = threading.Thread(target=self.serve, name="coverage")
        self.thread.start()

    def add(self, count):
        self.counts.put(count.clone())

    def serve(self):
        while (count := self.counts.get()) is not None:
            if self.render:
                self.draw(count)
            dist.all_reduce(count, group=self.group)
            self.total += count

    def draw(self, count):
        """The boat's own part as a picture; only one of them has a screen."""
        for row in count.view(4, -1):
            row.cumsum(0)
            time.sleep(0.15)
        self.rendered += 1

    def close(self):
        self.counts.put(None)
        self.thread.join()
        return (self.total > 0).float().mean().item()
