"""Snapshots of a run: one file for each process, and a manifest when all of them are there."""
import json
import logging
import os

import torch
import torch.distributed as dist

log = logging.getLogger("snapshots")


class SnapshotWriter:
    """Writes `<cast>.<rank>.pt` for the cast that the process has just learned from.

    A disk that is full must not end a run of a week: the snapshot is left out then, with a warning, and the
    next one will do.
    """

    def __init__(self, folder):
        self.folder = folder
        self.rank = dist.get_rank()
        self.published = []
        os.makedirs(folder, exist_ok=True)

    def path(self, cast):
        return os.path.join(self.folder, f"{cast}.{self.rank}.pt")

    def save(self, step, cast, payload):
        try:
            with open(self.path(cast), "wb") as file:
                torch.save(payload, file)
            dist.barrier()
            self.publish(step)
        except OSError as error:
            log.warning("snapshot of step %d left out: %s", step, error)

    def publish(self, step):
        self.published.append(step)
        if self.rank == 0:
            partial = os.path.join(self.folder, "manifest.partial")
            with open(partial, "w") as file:
                json.dump({"steps": self.published, "files": sorted(os.listdir(self.folder))}, file)
            os.replace(partial, os.path.join(self.folder, "manifest.json"))
