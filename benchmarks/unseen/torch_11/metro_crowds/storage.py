import io
import os
import pathlib
import time

import torch


class ArchiveWriter:
    """Writes to the archive's mount in small blocks, each of them flushed, at the rate that its owners allow."""

    def __init__(self, folder, block=4096, pause=0.25):
        self.folder = pathlib.Path(folder)
        self.block = block
        self.pause = pause

    def store(self, name, state):
        buffer = io.BytesIO()
        torch.save(state, buffer)
        blob = buffer.getvalue()
        path = self.folder / name
        with open(path, "wb") as file:
            for start in range(0, len(blob), self.block):
                file.write(blob[start : start + self.block])
                file.flush()
                os.fsync(file.fileno())
                time.sleep(self.pause)
        return path, len(blob)
