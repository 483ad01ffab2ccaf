"""Requests for a snapshot by signal, agreed on by all ranks."""
import os
import signal
import threading

import torch
import torch.distributed as dist


class SnapshotRequests:
    def __init__(self):
        self.pending = False
        signal.signal(signal.SIGUSR1, self._on_signal)

    def _on_signal(self, signum, frame):
        self.pending = True

    def agreed(self):
        """True on all ranks if any of them has been asked since the last call."""
        flag = torch.tensor(int(self.pending))
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        if flag.item():
            self.pending = False
        return bool(flag.item())


def operator(after):
    """Stands in for the operator who sends SIGUSR1 to one of the workers."""
    t = threading.Timer(after, os.kill, (os.getpid(), signal.SIGUSR1))
    t.daemon = True
    t.start()
