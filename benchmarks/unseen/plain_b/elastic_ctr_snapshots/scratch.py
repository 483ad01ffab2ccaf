"""Snapshots of a worker on node-local scratch space, which has a quota."""
import errno
import logging
import os

import torch


class Snapshots:
    def __init__(self, folder, quota, keep=2):
        self.folder, self.quota, self.keep = folder, quota, keep

    def files(self):
        return sorted(self.folder.glob("step-*.pt"))

    def enforce_quota(self):
        if sum(f.stat().st_size for f in self.folder.iterdir()) > self.quota:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT), str(self.folder))

    def save(self, step, model, opt):
        part = self.folder / "partial.pt"
        try:
            torch.save({"step": step, "model": model.state_dict(), "opt": opt.state_dict()}, part)
            self.enforce_quota()
            part.rename(self.folder / f"step-{step:06d}.pt")
        except OSError as err:
            part.unlink(missing_ok=True)
            logging.warning("no snapshot of step %d: %s", step, err)
        for old in self.files()[:-self.keep]:
            old.unlink()

    def restore(self, model, opt):
        if not (found := self.files()):
            return 0
        state = torch.load(found[-1])
        model.load_state_dict(state["model"])
        opt.load_state_dict(state["opt"])
        return state["step"]
