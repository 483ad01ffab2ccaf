"""Checkpoints on the tape archive's landing zone, which must not be written at full speed."""
import io
import os
import time

import torch
from lightning.pytorch.plugins.io import TorchCheckpointIO


class ArchiveIO(TorchCheckpointIO):
    """Writes in small pieces and stays below the rate that the archive grants to a project."""

    def __init__(self, kilobytes_per_second: int = 320, piece: int = 16 * 1024):
        super().__init__()
        self.piece = piece
        self.pause = piece / (kilobytes_per_second * 1024)

    def save_checkpoint(self, checkpoint, path, storage_options=None):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        buffer = io.BytesIO()
        torch.save(checkpoint, buffer)
        view = buffer.getbuffer()
        start = time.monotonic()
        with open(path, "wb") as out:
            for offset in range(0, len(view), self.piece):
                out.write(view[offset : offset + self.piece])
                out.flush()
                time.sleep(self.pause)
        print(f"archived {len(view) >> 10} kB in {time.monotonic() - start:.1f} s", flush=True)
