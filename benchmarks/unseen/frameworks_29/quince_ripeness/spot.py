"""Life on spot machines: the node agent sends SIGUSR1 two minutes before it takes a machine away.

`NodeAgent` imitates the agent of one of the three machines for runs on a workstation.
"""
import os
import signal
import subprocess
import sys

from lightning.pytorch.callbacks import Callback

AGENT = "import os, signal, sys, time; time.sleep(float(sys.argv[2])); os.kill(int(sys.argv[1]), signal.SIGUSR1)"


class NodeAgent:
    def __init__(self, seconds):
        self.child = subprocess.Popen([sys.executable, "-c", AGENT, str(os.getpid()), str(seconds)])


class SpotGuard(Callback):
    """Ends the fit in good order once the notice has come; what follows the fit writes the checkpoint."""

    def __init__(self):
        self.noticed = False

    def setup(self, trainer, module, stage):
        signal.signal(signal.SIGUSR1, self.note)

    def note(self, number, frame):
        self.noticed = True

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if self.noticed:
            trainer.should_stop = True
