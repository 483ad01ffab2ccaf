"""Checkpoints on the tape library's staging area.

The area accepts small synchronous writes only; everything larger is refused with EAGAIN,
so a checkpoint is written block by block.
"""
import hashlib
import io
import os
import time
from pathlib import Path

import torch

BLOCK = 4096


class ColdArchive:
    def __init__(self, folder, pace=0.12):
        self.folder = Path(folder)
        self.pace = pace

    def store(self, name, state):
        buffer = io.BytesIO()
        torch.save(state, buffer)
        data = buffer.getvalue()
        digest = hashlib.sha256()
        path = self.folder / name
        with open(path.with_suffix(".part"), "wb") as stream:
            for start in range(0, len(data), BLOCK):
                piece = data[start : start + BLOCK]
                stream.write(piece)
                stream.flush()
                os.fsync(stream.fileno())
                digest.update(piece)
                time.sleep(self.pace)
        os.replace(path.with_suffix(".part"), path)
        path.with_suffix(".sha256").write_text(digest.hexdigest())
        return len(data)
