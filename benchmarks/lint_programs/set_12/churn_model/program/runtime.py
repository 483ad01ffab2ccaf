import os
import signal

import torch
import torch.distributed as dist


def setup(seed):
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    device = torch.device("cpu")
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        device = torch.device("cuda", torch.cuda.current_device())
    torch.manual_seed(seed)
    return device


def say(message):
    if dist.get_rank() == 0:
        print(message, flush=True)


class Preemption:
    """Calls `action` when the scheduler announces the end of the job.

    Slurm sends SIGUSR1 to every process (sbatch --signal=USR1@120); on machines without a
    scheduler `time_limit` seconds of wall clock do the same by SIGALRM.
    """

    SIGNALS = (signal.SIGUSR1, signal.SIGALRM)

    def __init__(self, action, time_limit=0.0):
        self.action = action
        self.time_limit = time_limit
        self.before = {}

    def _handle(self, signum, frame):
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.action(signal.Signals(signum).name)

    def __enter__(self):
        for s in self.SIGNALS:
            self.before[s] = signal.signal(s, self._handle)
        if self.time_limit:
            signal.setitimer(signal.ITIMER_REAL, self.time_limit)
        return self

    def __exit__(self, *exc):
        signal.setitimer(signal.ITIMER_REAL, 0)
        for s, old in self.before.items():
            signal.signal(s, old)
        return False
