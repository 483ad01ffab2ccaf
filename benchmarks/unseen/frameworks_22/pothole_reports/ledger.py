"""A ledger of the run: what every process has noted, in one file."""

import atexit
import json
import time
from pathlib import Path

import torch.distributed as dist


class Ledger:
    """Notes are kept in memory and written when the process ends, however that comes about."""

    def __init__(self, path):
        self.path = Path(path)
        self.notes = []
        self.began = time.time()
        atexit.register(self.close)

    def note(self, **fields):
        self.notes.append({"at": round(time.time() - self.began, 2), **fields})

    def close(self):
        if not dist.is_initialized():
            return
        parts = [None] * dist.get_world_size()
        dist.all_gather_object(parts, self.notes)
        if dist.get_rank() == 0:
            with self.path.open("w") as file:
                for rank, notes in enumerate(parts):
                    for fields in notes:
                        file.write(json.dumps({"rank": rank, **fields}) + "\n")


class StepClock:
    """Seconds per step, for the ledger."""

    def __init__(self):
        self.last = None

    def tick(self):
        now = time.monotonic()
        took = 0.0 if self.last is None else now - self.last
        self.last = now
        return took
