"""Snapshots leave through a thread in small pieces: the vault is behind a thin line."""
import io
import os
import tempfile
import threading
import time

import torch


class Vault:
    def __init__(self, store, key="vault/last", piece=4096, pause=0.05):
        self.store, self.key = store, key
        self.piece, self.pause = piece, pause
        self.folder = tempfile.mkdtemp(prefix="vault")
        self._thread = None

    def put(self, step, state):
        self.join()
        blob = io.BytesIO()
        torch.save(state, blob)
        self._thread = threading.Thread(target=self._push, args=(step, blob.getvalue()), name=f"vault-{step}")
        self._thread.start()

    def _push(self, step, blob):
        with open(os.path.join(self.folder, f"{step}.part"), "wb") as f:
            for at in range(0, len(blob), self.piece):
                f.write(blob[at:at + self.piece])
                f.flush()
                os.fsync(f.fileno())
                time.sleep(self.pause)
        os.replace(f.name, f.name[:-5] + ".pt")
        self.store.set(self.key, str(step))

    def join(self):
        if self._thread is not None:
            self._thread.join()
            self._thread = None


def await_step(store, step, key="vault/last", look=0.25):
    while not store.check([key]) or int(store.get(key)) < step:
        time.sleep(look)
