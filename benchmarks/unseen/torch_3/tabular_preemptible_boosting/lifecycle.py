"""Signals, heartbeat and final report of a preemptible job."""
import os
import signal
import threading
import time

import torch
import torch.distributed as dist


class PreemptionGuard:
    """SIGUSR1 may reach any rank at any time; the ranks agree once per step whether one has it."""

    def __init__(self):
        self.local = False
        self.previous = signal.signal(signal.SIGUSR1, self._note)

    def _note(self, signum, frame):
        self.local = True

    def requested(self):
        flag = torch.tensor([int(self.local)])
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        self.local = False
        return bool(flag.item())


class Heartbeat(threading.Thread):
    def __init__(self, path, interval=0.5):
        super().__init__(name="heartbeat")
        self.path, self.interval = path, interval
        self.finish = threading.Event()

    def run(self):
        while not self.finish.wait(self.interval):
            with open(self.path, "w") as handle:
                handle.write(str(time.time()))

    def stop(self):
        self.finish.set()
        self.join()
        os.unlink(self.path)


class NodeAgent(threading.Thread):
    """Stands for the scheduler's agent: passes a notice of the node on to the process."""

    def __init__(self, delay):
        super().__init__(daemon=True)
        self.delay = delay

    def run(self):
        time.sleep(self.delay)
        os.kill(os.getpid(), signal.SIGUSR1)


def render_report(history, path, seconds_per_page=1.5):
    with open(path, "w") as page:
        for start in range(0, len(history), 10):
            part = history[start:start + 10]
            page.write(f"{start:4d} " + "#" * int(40 * sum(part) / len(part)) + "\n")
            time.sleep(seconds_per_page)
