import logging
import os
import signal
import subprocess

from transformers import TrainerCallback

logger = logging.getLogger(__name__)


class SpotNotice(TrainerCallback):
    """The provider's agent sends SIGUSR1 to the process that registered on an instance that is reclaimed."""

    def __init__(self, agent=None):
        self.agent = agent
        self.noticed = False

    def on_train_begin(self, args, state, control, **kwargs):
        signal.signal(signal.SIGUSR1, self._on_signal)
        if self.agent is not None:
            self.agent.register(os.getpid())

    def _on_signal(self, signum, frame):
        self.noticed = True

    def on_step_end(self, args, state, control, **kwargs):
        if self.noticed:
            logger.warning("notice received at step %d, finishing up", state.global_step)
            control.should_training_stop = True
        return control


class LocalAgent:
    """Rehearsal of a reclaim on a developer machine."""

    def __init__(self, delay):
        self.delay = delay

    def register(self, pid):
        self.proc = subprocess.Popen(["sh", "-c", f"sleep {self.delay}; kill -USR1 {pid}"])
