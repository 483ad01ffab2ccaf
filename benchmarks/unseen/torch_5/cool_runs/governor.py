"""Keeps a workstation under its temperature limit by pauses of the process."""
import os
import signal
import threading
import time
from dataclasses import dataclass


@dataclass
class Limits:
    pause_above: float = 85.0
    pause_seconds: float = 3.0
    interval: float = 0.25


class SimulatedSensor:
    """Ambient temperature and a slope per second of work."""

    def __init__(self, ambient, slope):
        self.start = time.monotonic()
        self.ambient = ambient
        self.slope = slope

    def read(self):
        return min(self.ambient + self.slope * (time.monotonic() - self.start), 97.0)


class Governor(threading.Thread):
    def __init__(self, sensor, limits=Limits()):
        super().__init__(daemon=True, name="governor")
        self.sensor = sensor
        self.limits = limits
        self.pauses = 0

    def run(self):
        while True:
            if self.sensor.read() > self.limits.pause_above:
                self.pause()
            time.sleep(self.limits.interval)

    def pause(self):
        self.pauses += 1
        pid = os.getpid()
        resume = threading.Timer(self.limits.pause_seconds, os.kill, (pid, signal.SIGCONT))
        resume.daemon = True
        resume.start()
        os.kill(pid, signal.SIGSTOP)
