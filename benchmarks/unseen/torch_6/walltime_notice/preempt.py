import os
import signal
import time

import torch
import torch.distributed as dist


class Notice:
    """Remembers that the scheduler has announced the end of the time slice."""

    def __init__(self, signum=signal.SIGUSR2):
        self._seen = False
        signal.signal(signum, self._handle)

    def _handle(self, signum, frame):
        self._seen = True

    def agreed(self):
        """True on all ranks as soon as one of them has been notified."""
        flag = torch.tensor([int(self._seen)])
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        hit = bool(flag.item())
        if hit:
            self._seen = False
        return hit


def scheduler_stub(step, rank):
    """Stands for `scancel --signal`: the batch system notifies one task only."""
    if step == 30 and rank == 2:
        os.kill(os.getpid(), signal.SIGUSR2)


def throttled_write(path, blob, chunk=2048, pause=0.2):
    with open(path, "wb") as f:
        for i in range(0, len(blob), chunk):
            f.write(blob[i:i + chunk])
            f.flush()
            os.fsync(f.fileno())
            time.sleep(pause)
