import os
import time

import torch
import torch.distributed as dist
from transformers import TrainerCallback


class ColdArchive:
    """Write-once archive behind a rate limiter; a file becomes visible when it is complete."""

    def __init__(self, folder, rate=16 * 1024, pause=0.25):
        self.folder, self.rate, self.pause = folder, rate, pause
        os.makedirs(folder, exist_ok=True)

    def put(self, name, payload):
        part = os.path.join(self.folder, f".{name}.part")
        with open(part, "wb") as out:
            for start in range(0, len(payload), self.rate):
                out.write(payload[start:start + self.rate])
                out.flush()
                os.fsync(out.fileno())
                time.sleep(self.pause)
        os.replace(part, os.path.join(self.folder, name))

    def rotate(self, keep):
        names = sorted(n for n in os.listdir(self.folder) if n.startswith("ema-"))
        for name in names[:-keep]:
            os.unlink(os.path.join(self.folder, name))


class EmaCallback(TrainerCallback):
    def __init__(self, archive, decay=0.98, archive_every=30, keep=1):
        self.archive, self.decay, self.archive_every, self.keep = archive, decay, archive_every, keep
        self.shadow = {}

    def on_step_end(self, args, state, control, model=None, **kwargs):
        for name, p in getattr(model, "module", model).named_parameters():
            old = self.shadow.setdefault(name, p.detach().clone())
            old.lerp_(p.detach(), 1 - self.decay)
        if state.global_step % self.archive_every == 0:
            if state.is_world_process_zero:
                flat = torch.cat([v.flatten() for v in self.shadow.values()])
                self.archive.put(f"ema-{state.global_step:06d}.bin", flat.numpy().tobytes())
                self.archive.rotate(self.keep)
            dist.barrier()
