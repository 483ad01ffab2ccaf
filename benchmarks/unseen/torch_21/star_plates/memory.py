"""Keeps the processes of the data loader within their share of the machine's memory."""
import logging
import multiprocessing
import os
import signal
import threading
import time

log = logging.getLogger("memory")
PAGE = os.sysconf("SC_PAGE_SIZE")


def resident(pid):
    try:
        with open(f"/proc/{pid}/statm") as f:
            return int(f.read().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


class Budget(threading.Thread):
    """Looks at the children of this process from time to time.

    A child that has grown beyond what this process had at the start, plus `extra` MiB, is ended before the kernel has to
    choose a victim on its own, which on this cluster takes whole jobs of other users with it.
    """

    def __init__(self, extra, every=0.1):
        super().__init__(name="budget", daemon=True)
        self.limit = resident(os.getpid()) + extra * 2**20
        self.every = every
        self.highest = 0

    def look(self):
        for child in multiprocessing.active_children():
            size = resident(child.pid)
            self.highest = max(self.highest, size)
            if size > self.limit:
                log.warning("process %d has %d MiB of %d", child.pid, size >> 20, self.limit >> 20)
                os.kill(child.pid, signal.SIGKILL)

    def run(self):
        while True:
            self.look()
            time.sleep(self.every)
