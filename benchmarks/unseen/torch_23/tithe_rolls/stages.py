"""Stages of a preparation that all processes go through, with marks in the job's store."""
import datetime
import logging
import time

import torch.distributed as dist
from torch.distributed.distributed_c10d import _get_default_store

log = logging.getLogger("stages")


class Stage:
    """A process marks that its part is done; whoever needs the whole waits for all marks."""

    def __init__(self, name):
        self.name = name
        self.store = _get_default_store()
        self.world = dist.get_world_size()

    def mark(self, count):
        self.store.set(f"{self.name}/{dist.get_rank()}", str(count))
        self.store.add(f"{self.name}/marks", 1)

    def marks(self):
        return self.store.add(f"{self.name}/marks", 0)

    def wait(self, poll=0.25):
        started = time.monotonic()
        while self.marks() < self.world:
            time.sleep(poll)
        log.info("%s: complete after %.1f s of waiting", self.name, time.monotonic() - started)
        return [int(self.store.get(f"{self.name}/{rank}")) for rank in range(self.world)]


class Ledger:
    """The last word of rank 0: what was prepared, for those who need it afterwards."""

    def __init__(self):
        self.store = _get_default_store()

    def publish(self, text):
        self.store.set("ledger", text)

    def read(self, patience=datetime.timedelta(hours=6)):
        self.store.wait(["ledger"], patience)
        return self.store.get("ledger").decode()
