"""Checkpoints that are written in the background."""
import logging
import os
import shutil
import tempfile
import time

import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import FileSystemWriter
from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict

log = logging.getLogger("quarry")


class TapeWriter(FileSystemWriter):
    """A file system in front of a tape library: each file waits until its drive is free."""

    def __init__(self, path, seconds):
        super().__init__(path)
        self.seconds = seconds

    def write_data(self, plan, planner):
        time.sleep(self.seconds)
        return super().write_data(plan, planner)


class Archive:
    """At most one checkpoint is on its way; the next one waits for it."""

    def __init__(self, seconds):
        self.rank = dist.get_rank()
        self.seconds = seconds * (1 + self.rank)
        run = os.environ.get("TORCHELASTIC_RUN_ID", "local")
        self.folder = os.path.join(tempfile.gettempdir(), f"quarry-{run}")
        self.group = dist.new_group()
        self.pending = None
        self.newest = None

    def save(self, model, step):
        self.finish()
        path = os.path.join(self.folder, f"step-{step}")
        writer = TapeWriter(path, self.seconds)
        state = {"model": get_model_state_dict(model)}
        self.pending = dcp.async_save(state, storage_writer=writer, process_group=self.group)
        self.newest = path

    def finish(self):
        if self.pending is not None:
            start = time.monotonic()
            self.pending.result()
            log.info("process %d waited %.1f s for its checkpoint", self.rank, time.monotonic() - start)
            self.pending = None

    def load(self, model):
        state = {"model": get_model_state_dict(model)}
        dcp.load(state, checkpoint_id=self.newest, process_group=self.group)
        set_model_state_dict(model, state["model"])

    def remove(self):
        dist.barrier()
        if self.rank == 0:
            shutil.rmtree(self.folder)
