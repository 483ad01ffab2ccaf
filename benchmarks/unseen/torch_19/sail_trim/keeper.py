"""Checkpoints of which every process writes its own part: optimizer, random state and the state of its log."""
import json
import os

import torch
import torch.distributed as dist


class Keeper:
    """Keeps the newest checkpoints, and the best one for as long as it is the best."""

    def __init__(self, folder, newest=3):
        self.folder = folder
        self.newest = newest
        self.rank = dist.get_rank()
        self.errors = {}

    def path(self, step):
        return os.path.join(self.folder, f"step{step:06d}.part{self.rank}.pt")

    def stale(self):
        steps = sorted(self.errors)
        keep = set(steps[-self.newest:])
        keep.add(min(steps, key=self.errors.__getitem__))
        return [step for step in steps if step not in keep]

    def prune(self):
        """Parts of a checkpoint go together, so that no reader finds half of one."""
        for step in self.stale():
            os.unlink(self.path(step))
            del self.errors[step]
            dist.barrier()

    def write_index(self):
        if self.rank == 0:
            path = os.path.join(self.folder, "index.json")
            with open(path + ".new", "w") as out:
                json.dump({"steps": sorted(self.errors), "parts": dist.get_world_size()}, out)
            os.replace(path + ".new", path)

    def save(self, step, error, state):
        torch.save(state, self.path(step))
        self.errors[step] = error
        self.prune()
        self.write_index()
        dist.barrier(group=dist.group.WORLD)
