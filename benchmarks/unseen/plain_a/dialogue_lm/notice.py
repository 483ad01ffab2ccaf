import os
import signal
import threading


class StopRequest:
    """Set by a signal; looked at between steps."""

    def __init__(self, signum):
        self.requested = False
        signal.signal(signum, self._on_signal)

    def _on_signal(self, signum, frame):
        self.requested = True


class NodeAgent(threading.Thread):
    """Polls for the provider's notice and forwards it to the training process as SIGUSR1."""

    def __init__(self, path, period=0.5):
        super().__init__(name="node-agent", daemon=True)
        self.path, self.period = path, period
        self._leave = threading.Event()

    def run(self):
        while not self._leave.wait(self.period):
            if self.path.exists():
                os.kill(os.getpid(), signal.SIGUSR1)
                return

    def stop(self):
        self._leave.set()
        self.join()
