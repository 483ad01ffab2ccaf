"""A run as a context: its folder, its log, and that it is left by all processes together."""
import json
import pathlib
import shutil
import tempfile
import time

import torch.distributed as dist


class Run:
    """`with Run("name") as run:` gives the process a scratch folder and a log of its own.

    The scratch folders are removed when all processes have come out of the block, so that a process may still read
    files that another one has written there.
    """

    def __init__(self, name):
        self.name = name
        self.rank = dist.get_rank()
        self.values = []

    def __enter__(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix=f"{self.name}-{self.rank}-"))
        self.log = open(self.scratch / "log.jsonl", "w")
        self.begun = time.monotonic()
        return self

    @property
    def seconds(self):
        return time.monotonic() - self.begun

    def record(self, **values):
        self.values.append(values)
        self.log.write(json.dumps(values) + "\n")

    def __exit__(self, kind, error, trace):
        self.log.write(json.dumps({"ended": kind.__name__ if kind else "regularly", "seconds": self.seconds}))
        self.log.close()
        dist.barrier()
        shutil.rmtree(self.scratch, ignore_errors=True)
        return False
