"""Snapshots of a run: every process keeps those of its own tables, within a budget of bytes."""
import pathlib
import shutil
import tempfile

import torch
import torch.distributed as dist


class Shelf:
    def __init__(self, budget, keep=2):
        self.budget = budget
        self.keep = keep
        self.rank = dist.get_rank()
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="lighthouse-"))

    def snapshots(self):
        return sorted(self.directory.glob("*.pt"))

    def used(self):
        return sum(path.stat().st_size for path in self.snapshots())

    def prune(self):
        """Removes the oldest snapshots, once no process needs them for this one any more."""
        dist.barrier()  # all have written
        for path in self.snapshots()[:-self.keep]:
            path.unlink()

    def put(self, number, state):
        temporary = self.directory / f"{number:05d}.part"
        torch.save(state, temporary)
        temporary.rename(temporary.with_suffix(".pt"))
        if self.used() > self.budget:
            self.prune()
        dist.barrier()  # a snapshot is complete when all have it

    def newest(self):
        return torch.load(self.snapshots()[-1])

    def clear(self):
        shutil.rmtree(self.directory)
