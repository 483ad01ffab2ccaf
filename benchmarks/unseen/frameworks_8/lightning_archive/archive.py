import hashlib
import os
import queue
import tempfile
import threading
import time

import torch
from lightning.pytorch.callbacks import Callback


class Digest(threading.Thread):
    """Hashes the blocks that have been written."""

    def __init__(self):
        super().__init__(daemon=True)
        self.blocks = queue.Queue()
        self.sha = hashlib.sha256()

    def run(self):
        for block in iter(self.blocks.get, None):
            self.sha.update(block)


class ArchiveWriter(Callback):
    """Writes the weights in small synchronous blocks, as the tape gateway wants them."""

    def __init__(self, epochs, blocks=180, pause=0.1):
        self.epochs, self.blocks, self.pause = epochs, blocks, pause

    def _write(self, path, state):
        digest = Digest()
        digest.start()
        payload = b"".join(t.numpy().tobytes() for t in state.values() if t.dtype == torch.float32)
        with open(path, "wb", buffering=0) as f:
            for _ in range(self.blocks):
                f.write(payload)
                os.fsync(f.fileno())
                digest.blocks.put(payload)
                time.sleep(self.pause)
        digest.blocks.put(None)
        digest.join()
        return digest.sha.hexdigest()

    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.current_epoch not in self.epochs:
            return
        if trainer.is_global_zero:
            path = os.path.join(tempfile.gettempdir(), f"archive_{os.getpid()}.bin")
            print("archived", path, self._write(path, pl_module.state_dict())[:12], flush=True)
        trainer.strategy.barrier("archived")
