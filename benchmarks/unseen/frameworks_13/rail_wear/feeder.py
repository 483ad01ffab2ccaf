import queue
import threading
import time

import torch


class Feeder:
    """Parses measuring runs in a thread, a few batches ahead of the training loop."""

    END = object()

    def __init__(self, lines, batch, ahead=6, device="cpu"):
        self.lines = lines
        self.batch = batch
        self.device = device
        self.ready = queue.Queue(maxsize=ahead)
        self.thread = threading.Thread(target=self._fill, name="feeder", daemon=True)
        self.thread.start()

    @staticmethod
    def parse(line):
        *profile, wear = line.split(";")
        return [float(value) for value in profile], float(wear)

    def _fill(self):
        rows = []
        for line in self.lines:
            rows.append(self.parse(line))
            if len(rows) == self.batch:
                profile, wear = zip(*rows)
                self.ready.put((torch.tensor(profile).to(self.device), torch.tensor(wear).to(self.device)))
                rows = []
                time.sleep(0.02)
        self.ready.put(self.END)

    def __iter__(self):
        while True:
            item = self.ready.get()
            if item is self.END:
                self.thread.join()
                return
            yield item
