"""A folder of reconstructions that several jobs may write to."""
import json
import os
import time
from pathlib import Path


class FolderLock:
    def __init__(self, folder):
        self.path = Path(folder) / ".lock"

    def acquire(self, poll=0.2):
        while True:
            try:
                fd = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            except FileExistsError:
                time.sleep(poll)
                continue
            os.write(fd, str(os.getpid()).encode())
            os.close(fd)
            return

    def release(self):
        self.path.unlink()


class Gallery:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.index = self.folder / "index.json"
        self.lock = FolderLock(folder)

    @staticmethod
    def _grey(row):
        """Stretch one image to 0..255."""
        low, high = min(row), max(row)
        scale = 255.0 / (high - low)
        return [int((v - low) * scale) for v in row]

    def add(self, step, originals, reconstructions):
        self.lock.acquire()
        entries = json.loads(self.index.read_text()) if self.index.exists() else {}
        entries[str(step)] = [
            {"in": self._grey(a), "out": self._grey(b)}
            for a, b in zip(originals.tolist(), reconstructions.tolist())
        ]
        self.index.write_text(json.dumps(entries))
        self.lock.release()
