"""Living with preemption: the scheduler sends USR1 two minutes before it takes the nodes away."""
import os
import signal
import threading

import lightning as L


class LeaveInTime(L.Callback):
    """Ends the fit cleanly after the notice, so that the last checkpoint is a whole one."""

    def __init__(self, notice=signal.SIGUSR1):
        self.notice = notice
        self.leaving = False
        self._before = None

    def setup(self, trainer, pl_module, stage):
        self._before = signal.signal(self.notice, self._note)

    def _note(self, number, frame):
        # nothing but a flag in here, the handler can interrupt anything
        self.leaving = True

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if self.leaving:
            trainer.should_stop = True

    def teardown(self, trainer, pl_module, stage):
        if self._before is not None:
            signal.signal(self.notice, self._before)


def spare_partition(after):
    """The scheduler of the tests: `--signal=USR1@120` without a step goes to the first task of the
    allocation, and so does this.
    """
    if int(os.environ["RANK"]) != 0:
        return
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.daemon = True
    timer.start()
