"""Things that happen during a training, each in a class of its own."""
import os
import shutil
import tempfile
import time

import torch
import torch.distributed as dist


class Hook:
    def begin(self, trainer):
        pass

    def after_step(self, trainer, step):
        pass

    def end(self, trainer):
        pass


class Pace(Hook):
    """The traps' archive asks its readers not to be faster than this."""

    def __init__(self, seconds):
        self.seconds = seconds

    def after_step(self, trainer, step):
        time.sleep(self.seconds)


class Snapshots(Hook):
    """A snapshot every `every` steps by the first process; nobody goes on before the file is complete."""

    def __init__(self, every):
        self.every = every
        self.folder = None

    def begin(self, trainer):
        self.folder = tempfile.mkdtemp(prefix="pollen_")

    def after_step(self, trainer, step):
        if step % self.every == 0:
            if dist.get_rank() == 0:
                path = os.path.join(self.folder, f"step_{step}.pt")
                torch.save(trainer.model.module.state_dict(), path + ".part")
                os.replace(path + ".part", path)
            dist.barrier()

    def end(self, trainer):
        shutil.rmtree(self.folder, ignore_errors=True)
