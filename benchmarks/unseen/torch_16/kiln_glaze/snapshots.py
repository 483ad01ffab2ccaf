"""Snapshots from which a run can be continued, the random numbers included."""
import pathlib
import tempfile

import torch

from distributed import collected, generator_state, main_process


class Snapshots:
    def __init__(self, every, keep):
        self.every = every
        self.keep = keep
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kiln_"))
        self.written = []

    def due(self, step):
        return step > 0 and step % self.every == 0

    @main_process
    def write(self, step, module, optimizer):
        path = self.folder / f"step_{step:05d}.pt"
        state = {
            "step": step,
            "model": module.state_dict(),
            "optimizer": optimizer.state_dict(),
            "generators": collected(generator_state()),
        }
        torch.save(state, path)
        self.written.append(path)
        self.prune()

    def prune(self):
        while len(self.written) > self.keep:
            self.written.pop(0).unlink(missing_ok=True)

    @main_process
    def close(self):
        for path in self.written:
            path.unlink(missing_ok=True)
