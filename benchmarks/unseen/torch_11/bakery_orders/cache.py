import logging
import os
import pathlib
import time

import torch

log = logging.getLogger("cache")


class FeatureCache:
    """A file of features that the first process of a host builds. The others look for it every now and then."""

    def __init__(self, folder, builder, poll=0.5):
        self.folder = pathlib.Path(folder)
        self.builder = builder
        self.poll = poll

    @property
    def path(self):
        return self.folder / "features.pt"

    def _build(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".partial")
        torch.save(self.builder(), partial)
        os.replace(partial, self.path)

    def get(self, builds):
        if builds:
            self._build()
        waited = 0.0
        while not self.path.exists():
            time.sleep(self.poll)
            waited += self.poll
            if waited % 5 == 0:
                log.info("waiting for %s since %.0f s", self.path, waited)
        return torch.load(self.path)
