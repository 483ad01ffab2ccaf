import contextlib
import json
import pathlib
import time

import torch.distributed as dist


class Run(contextlib.AbstractContextManager):
    """A training run: a folder with one log for each process, put together when the run is over."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.rank = dist.get_rank()
        self.path = self.folder / f"log_{self.rank}.jsonl"
        self.file = None
        self.started = time.time()

    def __enter__(self):
        self.file = open(self.path, "w")
        return self

    def log(self, **values):
        self.file.write(json.dumps({"time": time.time() - self.started, **values}) + "\n")

    def merge(self):
        with open(self.folder / "run.jsonl", "w") as merged:
            for path in sorted(self.folder.glob("log_*.jsonl")):
                merged.write(path.read_text())

    def __exit__(self, kind, error, trace):
        self.file.close()
        dist.barrier()
        if self.rank == 0:
            self.merge()
        return None
