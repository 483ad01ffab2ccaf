import threading
import time

import torch


class Dashboard:
    """The page that shows the drift; it draws all the points again with every new one."""

    def __init__(self):
        self.points = []

    def post(self, value):
        self.points.append(value)
        time.sleep(min(0.02 * len(self.points), 0.9))


class DriftMonitor:
    """Compares the means of the features with those of the first day, beside the training."""

    def __init__(self, accelerator, features, interval=0.15):
        self.accelerator, self.interval = accelerator, interval
        self.lock = threading.Lock()
        self.sums, self.rows = torch.zeros(features), 0
        self.reference = None
        self.dashboard = Dashboard()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch, name="drift", daemon=True)

    def start(self):
        self.thread.start()

    def observe(self, features):
        with self.lock:
            self.sums += features.sum(0)
            self.rows += len(features)

    def take(self):
        with self.lock:
            means = self.sums / max(self.rows, 1)
            self.sums, self.rows = torch.zeros_like(self.sums), 0
        return means

    def watch(self):
        while not self.done.wait(self.interval):
            means = self.accelerator.reduce(self.take(), reduction="mean")
            if self.reference is None:
                self.reference = means.clone()
            drift = (means - self.reference).abs().max().item()
            if self.accelerator.is_main_process:
                self.dashboard.post(drift)

    def stop(self):
        self.done.set()
        self.thread.join()
