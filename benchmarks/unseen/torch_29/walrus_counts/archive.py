"""Writing to the expedition's disk, which is slow and refuses now and then."""
import os
import time

import torch


class Flaky(OSError):
    pass


class Archive:
    def __init__(self, folder):
        self.folder = folder
        self.refusals = 2

    def _write(self, state, path):
        if self.refusals:
            self.refusals -= 1
            raise Flaky("disk is spinning up")
        part = path + ".part"
        torch.save(state, part)
        time.sleep(2.5)                       # sync to the satellite link
        os.replace(part, path)

    def save(self, state, name, attempts=5):
        for attempt in range(attempts):
            try:
                self._write(state, os.path.join(self.folder, name))
                return True
            except Flaky as error:
                print(f"archive: {error}, attempt {attempt + 1} of {attempts}", flush=True)
                time.sleep(0.8)
        return False
