import os
import threading
import time
from pathlib import Path

from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_only


class HostMonitor(Callback):
    """Samples the load of the host while the model is fitted and writes it as CSV."""

    def __init__(self, path, interval: float = 0.5):
        self.path = Path(path)
        self.interval = interval
        self.samples = []
        self._stop = threading.Event()
        self._thread = None

    def _sample(self):
        while not self._stop.wait(self.interval):
            self.samples.append((time.time(), *os.getloadavg()))

    def on_fit_start(self, trainer, pl_module):
        self._thread = threading.Thread(target=self._sample, name="host-monitor")
        self._thread.start()

    @rank_zero_only
    def on_fit_end(self, trainer, pl_module):
        self._stop.set()
        self._thread.join()
        lines = ["time,load1,load5,load15"]
        lines += [",".join(f"{v:.2f}" for v in sample) for sample in self.samples]
        self.path.write_text("\n".join(lines) + "\n")
        print(f"host load of {len(self.samples)} samples in {self.path}", flush=True)
