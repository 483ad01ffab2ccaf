import json
import logging
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from lightning.fabric.loggers.logger import Logger
from lightning.fabric.utilities.rank_zero import rank_zero_only

log = logging.getLogger("tracking")


class RestLogger(Logger):
    """Sends the metrics to the sidecar, in groups; waits for it with growing pauses."""

    def __init__(self, flush_every: int = 4, attempts: int = 60):
        self.flush_every, self.attempts = flush_every, attempts
        self.pending = []
        self.process = None
        self.port = None

    @property
    def name(self):
        return "rest"

    @property
    def version(self):
        return 1

    @rank_zero_only
    def start(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        script = Path(__file__).with_name("sidecar.py")
        self.process = subprocess.Popen([sys.executable, str(script), str(self.port)])

    @rank_zero_only
    def log_hyperparams(self, params, *args, **kwargs):
        self.pending.append({"params": dict(params)})

    @rank_zero_only
    def log_metrics(self, metrics, step=None):
        self.pending.append({"step": step, **metrics})
        if len(self.pending) >= self.flush_every:
            self.flush()

    def flush(self):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/metrics",
            data=json.dumps(self.pending).encode(),
            headers={"Content-Type": "application/json"},
        )
        pause = 0.25
        for attempt in range(self.attempts):
            try:
                with urllib.request.urlopen(request, timeout=5):
                    self.pending.clear()
                    return
            except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
                log.info("attempt %d: %s, again in %.1f s", attempt, error, pause)
                time.sleep(pause)
                pause = min(2 * pause, 2.0)
        raise RuntimeError("the tracking sidecar does not answer")

    @rank_zero_only
    def finalize(self, status):
        if self.pending:
            self.flush()
        self.process.terminate()
        self.process.wait(timeout=20)
