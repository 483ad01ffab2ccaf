"""Snapshots of a training run in a folder; the newest few are kept."""

import logging
import pathlib

import torch

log = logging.getLogger(__name__)


class Snapshots:
    """Writes model and optimizer under `folder`. Used by the first worker, which has all of the model."""

    def __init__(self, folder, keep=2):
        self.folder = pathlib.Path(folder)
        self.keep = keep
        self.folder.mkdir(parents=True, exist_ok=True)

    def write(self, epoch, model, optimizer):
        optimizer.consolidate_state_dict(to=0)
        state = {
            "epoch": epoch,
            "model": model.module.state_dict(),
            "optimizer": optimizer.state_dict(),
        }
        path = self.folder / f"epoch-{epoch:03d}.pt"
        part = path.with_suffix(".part")
        torch.save(state, part)
        part.replace(path)
        log.info("wrote %s", path.name)
        self.tidy()
        return path

    def tidy(self):
        for old in self.paths()[: -self.keep]:
            old.unlink()

    def paths(self):
        return sorted(self.folder.glob("epoch-*.pt"))

    def newest(self):
        found = self.paths()
        return found[-1] if found else None
