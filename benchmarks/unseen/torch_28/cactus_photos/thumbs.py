"""Thumbnails on disk, shared by the ranks of this host."""
import threading
import time

import numpy as np

SIDE = 8


class ThumbCache:
    def __init__(self, folder, limit=150):
        self.folder, self.limit = folder, limit
        self.lock = threading.Lock()        # nobody may read a file while it is being trimmed

    def get(self, index):
        path = self.folder / f"{index}.npy"
        with self.lock:
            if path.exists():
                return np.load(path)
            thumb = self._render(index)
            np.save(path, thumb)
            return thumb

    def _render(self, index):
        time.sleep(0.03)
        rng = np.random.default_rng(index)
        return rng.normal(index % 3, 1.0, (3, SIDE, SIDE)).astype(np.float32)

    def _trim(self):
        self.lock.acquire()
        try:
            files = sorted(self.folder.glob("*.npy"), key=lambda p: p.stat().st_mtime)
            for path in files[: -self.limit]:
                path.unlink()
                time.sleep(0.03)            # the share is slow to delete
        finally:
            self.lock.release()

    def trim_in_background(self):
        if len(list(self.folder.glob("*.npy"))) > self.limit:
            threading.Thread(target=self._trim, name="trim", daemon=True).start()
