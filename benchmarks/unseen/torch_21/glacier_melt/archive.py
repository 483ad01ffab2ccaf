"""Archive of the weights that did best on the held-out season."""
import logging
import os
import shutil
import time

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

log = logging.getLogger("archive")


class Archive:
    """Keeps the newest `limit` files in a folder.

    With full_state_dict and cpu_offload the weights arrive as ordinary tensors on rank 0 and nowhere else, in the form
    in which the forecast service reads them.
    """

    def __init__(self, folder, first_epoch, limit=3):
        self.folder = folder
        self.first_epoch = first_epoch
        self.limit = limit
        self.lowest = float("inf")
        self.files = []
        self.options = StateDictOptions(full_state_dict=True, cpu_offload=True)

    def consider(self, model, epoch, error):
        """`error` is the mean over all processes. Returns when the file is there for everybody."""
        if epoch < self.first_epoch or error >= self.lowest:
            return False
        self.lowest = error
        if dist.get_rank() == 0:
            self.write(model, epoch, error)
        dist.barrier()
        return True

    def write(self, model, epoch, error):
        started = time.monotonic()
        path = os.path.join(self.folder, f"melt-{epoch:03d}.pt")
        weights = get_model_state_dict(model, options=self.options)
        torch.save({"epoch": epoch, "error": error, "weights": weights}, path + ".part")
        os.replace(path + ".part", path)
        self.files.append(path)
        while len(self.files) > self.limit:
            os.remove(self.files.pop(0))
        log.info("%s after %.1f s", path, time.monotonic() - started)

    def close(self):
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
