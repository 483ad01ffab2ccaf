"""The scheduler announces the end of an allocation with SIGTERM, to every process of the job."""

import logging
import os
import signal

import torch

log = logging.getLogger(__name__)


class Notice:
    """Remembers the announcement; the loop asks for it between two steps and agrees on it over all processes."""

    def __init__(self):
        self.seen = False
        signal.signal(signal.SIGTERM, self.note)

    def note(self, number, frame):
        self.seen = True

    def agreed(self, accelerator):
        mine = torch.tensor([float(self.seen)])
        return accelerator.reduce(mine, reduction="sum").item() > 0


def leave_to_parent(worker):
    """For data workers: the process that they belong to finishes its epoch first, and needs them until then."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def describe(accelerator):
    log.info("process %d of %d is pid %d", accelerator.process_index, accelerator.num_processes, os.getpid())
