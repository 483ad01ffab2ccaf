"""Snapshots on a slow archive: written in pieces, with a pause after each, as the archive limits the rate."""

import hashlib
import io
import time
from pathlib import Path

import torch


class Archive:
    def __init__(self, folder, bytes_per_second, piece=4096):
        self.folder = Path(folder)
        self.rate = bytes_per_second
        self.piece = piece

    def put(self, name, state):
        buffer = io.BytesIO()
        torch.save(state, buffer)
        content = buffer.getvalue()
        partial = self.folder / f"{name}.part"
        with partial.open("wb") as file:
            for begin in range(0, len(content), self.piece):
                file.write(content[begin : begin + self.piece])
                file.flush()
                time.sleep(self.piece / self.rate)
        partial.rename(self.folder / name)
        return hashlib.sha256(content).hexdigest()


def wait_for(path, timeout=120.0, interval=0.25):
    deadline = time.monotonic() + timeout
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} did not appear in {timeout:.0f} s")
        time.sleep(interval)
