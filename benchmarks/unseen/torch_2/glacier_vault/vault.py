"""Checkpoint storage on the institute's tape archive: small blocks, long pauses."""
import time
from pathlib import Path

import torch.distributed.checkpoint as dcp


class TapeWriter(dcp.FileSystemWriter):
    """Mounts the tape before the data are written, and copies them there block by block afterwards."""

    def __init__(self, path, tape, mount_seconds=4.0, block=1024, pause=0.15):
        super().__init__(path)
        self.tape, self.mount_seconds = Path(tape), mount_seconds
        self.block, self.pause = block, pause

    def write_data(self, plan, planner):
        if plan.items:
            self._mount()
        return super().write_data(plan, planner)

    def _mount(self):
        ready = time.monotonic() + self.mount_seconds
        while time.monotonic() < ready:
            time.sleep(0.1)

    def finish(self, metadata, results):
        super().finish(metadata, results)
        self.tape.mkdir(parents=True, exist_ok=True)
        for f in sorted(Path(self.path).iterdir()):
            data = f.read_bytes()
            with open(self.tape / f.name, "wb") as out:
                for at in range(0, len(data), self.block):
                    out.write(data[at:at + self.block])
                    out.flush()
                    time.sleep(self.pause)
