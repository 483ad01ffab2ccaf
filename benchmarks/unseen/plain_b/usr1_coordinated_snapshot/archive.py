"""Writes snapshots in the background, in small pieces, to spare a shared archive."""
import io
import threading
import time

import torch


class Archive:
    def __init__(self, path, piece=64 * 1024, pause=0.1):
        self.path, self.piece, self.pause = path, piece, pause
        self._thread = None

    def submit(self, state):
        self.drain()
        buf = io.BytesIO()
        torch.save(state, buf)
        self._thread = threading.Thread(target=self._write, args=(buf.getbuffer(),), name="archive")
        self._thread.start()

    def _write(self, data):
        with open(self.path, "wb", buffering=0) as fh:
            for at in range(0, len(data), self.piece):
                fh.write(data[at:at + self.piece])
                time.sleep(self.pause)

    def drain(self):
        if self._thread is not None:
            self._thread.join()
            self._thread = None
