"""Flattens scanned columns of a scroll by threads and hands them out in their order."""
import queue
import threading
import time

import torch


def flatten(column):
    """Straightens a column by the parabola that fits its lines of writing best."""
    height, width = column.shape
    x = torch.linspace(-1, 1, width, dtype=torch.float64)
    weight = column.clamp(min=0).sum(dim=0)
    basis = torch.stack([torch.ones_like(x), x, x.square()])
    rows = torch.arange(height, dtype=torch.float64)
    centre = (column.clamp(min=0) * rows[:, None]).sum(dim=0) / weight.clamp(min=1e-9)
    normal = (basis * weight) @ basis.T
    bend = torch.linalg.solve(normal, (basis * weight) @ centre)
    shift = (basis[1:].T @ bend[1:]).round().long().clamp(-3, 3)
    flat = torch.stack([column[:, i].roll(-int(shift[i])) for i in range(width)], dim=1)
    return flat.float()


class Dewarper:
    """A few threads that work ahead of the reader by at most `ahead` columns."""

    def __init__(self, scroll, threads=3, ahead=8):
        self.scroll = scroll
        self.jobs = queue.Queue()
        for index in range(len(scroll)):
            self.jobs.put(index)
        self.done = {}
        self.next = 0
        self.ahead = ahead
        self.changed = threading.Condition()
        for number in range(threads):
            threading.Thread(target=self.work, name=f"dewarp-{number}", daemon=True).start()

    def work(self):
        while True:
            try:
                index = self.jobs.get_nowait()
            except queue.Empty:
                return
            with self.changed:
                self.changed.wait_for(lambda: index < self.next + self.ahead)
            flat = flatten(self.scroll.column(index))
            time.sleep(0.01)
            with self.changed:
                self.done[index] = flat
                self.changed.notify_all()

    def __iter__(self):
        while self.next < len(self.scroll):
            with self.changed:
                while self.next not in self.done:
                    self.changed.wait()
                flat = self.done.pop(self.next)
                self.next += 1
                self.changed.notify_all()
            yield flat
