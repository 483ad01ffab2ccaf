"""Copies of checkpoints on the quarry's own file server, which hangs on the line of the weighbridge."""

import hashlib
import logging
import time
from pathlib import Path

from transformers import TrainerCallback

log = logging.getLogger("archive")


class Line:
    """Writes to the server at no more than `rate` bytes a second, so that the weighbridge is not disturbed."""

    def __init__(self, rate, piece=4096):
        self.rate = rate
        self.piece = piece

    def copy(self, source, target):
        digest = hashlib.sha256()
        with open(source, "rb") as read, open(target, "wb") as write:
            while data := read.read(self.piece):
                write.write(data)
                write.flush()
                digest.update(data)
                time.sleep(len(data) / self.rate)
        return digest.hexdigest()


class Archive(TrainerCallback):
    """After each save, the main process copies the new checkpoint to the server."""

    KEEP = ("*.safetensors", "*.bin", "optimizer.pt", "scheduler.pt", "trainer_state.json")

    def __init__(self, server, line):
        self.server = Path(server)
        self.line = line

    def files(self, checkpoint):
        for pattern in self.KEEP:
            yield from sorted(checkpoint.glob(pattern))

    def on_save(self, args, state, control, **kwargs):
        if not state.is_world_process_zero:
            return
        checkpoint = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        target = self.server / checkpoint.name
        target.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        sums = {file.name: self.line.copy(file, target / file.name) for file in self.files(checkpoint)}
        (target / "SHA256SUMS").write_text("".join(f"{value}  {name}\n" for name, value in sums.items()))
        log.info("%s: %d files in %.0f s", checkpoint.name, len(sums), time.monotonic() - began)
