"""What this project needs to know about the cluster it runs on."""
import os
import signal

from transformers import TrainerCallback

HOSTS = ("gpu-a", "gpu-b", "gpu-c", "gpu-d")
# step at which the maintenance window of a host opens in this rehearsal
WINDOWS = {"gpu-c": 26}


class NodeAgent(TrainerCallback):
    """Rehearsal of the node agent, which sends SIGUSR1 before it drains its host."""

    def __init__(self, rank):
        self.opens = WINDOWS.get(HOSTS[rank % len(HOSTS)])

    def on_step_begin(self, args, state, control, **kwargs):
        if self.opens is not None and state.global_step == self.opens:
            os.kill(os.getpid(), signal.SIGUSR1)


class DrainCallback(TrainerCallback):
    """Saves and stops when the node agent has announced maintenance."""

    def __init__(self):
        self.announced = False

    def _announce(self, signum, frame):
        self.announced = True

    def on_train_begin(self, args, state, control, **kwargs):
        signal.signal(signal.SIGUSR1, self._announce)

    def on_step_end(self, args, state, control, **kwargs):
        if self.announced:
            control.should_save = True
            control.should_training_stop = True
        return control
