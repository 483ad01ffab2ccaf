"""Checkpoints on the institute's share, where a job may write at a limited rate only."""
import io
import pathlib
import tempfile
import time
import zlib

import torch


class PacedFile:
    """Writes in blocks and keeps to `rate` bytes a second, as the share's rules demand."""

    def __init__(self, path, rate, block=64 * 1024):
        self.file = open(path, "wb")
        self.rate = rate
        self.block = block

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def write(self, data):
        begun = time.monotonic()
        for start in range(0, len(data), self.block):
            self.file.write(data[start:start + self.block])
            self.file.flush()
            due = begun + min(start + self.block, len(data)) / self.rate
            time.sleep(max(0.0, due - time.monotonic()))


class Archive:
    def __init__(self, rate):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="harps-"))
        self.rate = rate

    def save(self, name, **parts):
        buffer = io.BytesIO()
        torch.save(parts, buffer)
        data = buffer.getvalue()
        with PacedFile(self.folder / f"{name}.pt", self.rate) as file:
            file.write(data)
        (self.folder / f"{name}.crc").write_text(f"{zlib.crc32(data):08x} {len(data)}\n")
        return len(data)

    def remove(self):
        for path in self.folder.iterdir():
            path.unlink()
        self.folder.rmdir()
