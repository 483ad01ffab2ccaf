import contextlib
import os
import shutil
import threading

import torch


class CheckpointShelf:
    """Keeps the newest `keep` checkpoints in a folder, and a copy of the newest one on a second disk."""

    def __init__(self, folder, mirror, keep=3, interval=0.5):
        self.folder = folder
        self.mirror = mirror
        self.keep = keep
        self._kept = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._copier = threading.Thread(target=self._copy_newest, args=(interval,), daemon=True)
        self._copier.start()

    def save(self, step, state):
        path = os.path.join(self.folder, f"step{step:06d}.pt")
        with self._lock:
            torch.save(state, path + ".part")
            os.replace(path + ".part", path)
            self._kept.append(path)
            self._rotate()
        return path

    def remove(self, path):
        """Also used by the cleanup notebook, while a training is writing."""
        with self._lock, contextlib.suppress(FileNotFoundError):
            self._kept.remove(path)
            os.unlink(path)

    def _rotate(self):
        for path in self._kept[: -self.keep]:
            self.remove(path)

    def _copy_newest(self, interval):
        last = None
        while not self._stop.wait(interval):
            with self._lock:
                newest = self._kept[-1] if self._kept else None
                if newest is not None and newest != last:
                    shutil.copy(newest, self.mirror)
            last = newest

    def close(self):
        self._stop.set()
        self._copier.join()
