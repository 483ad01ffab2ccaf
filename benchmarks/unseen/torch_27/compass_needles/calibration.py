"""The calibration report: written by the last stage, awaited by the others."""
import datetime
import os
import time

import torch.distributed as dist


class Report:
    def __init__(self, folder, writer):
        self.folder = folder
        self.writer = writer
        self.store = dist.distributed_c10d._get_default_store()

    def publish(self, number, losses):
        """Slowly: the target is a tape robot, line by line, each with its own fsync."""
        with open(os.path.join(self.folder, f"report{number}.txt"), "w") as file:
            for i, loss in enumerate(losses[-30:]):
                file.write(f"{i} {loss:.5f}\n")
                file.flush()
                os.fsync(file.fileno())
                time.sleep(0.15)
        self.store.set(f"report/{number}", f"{sum(losses) / len(losses):.5f}")

    def await_it(self, number, patience=300.0):
        """Polls, because a blocking get would hold the store's connection."""
        end = time.monotonic() + patience
        while not self.store.check([f"report/{number}"]):
            if time.monotonic() > end:
                raise TimeoutError(f"no report {number}")
            time.sleep(0.25)
        return float(self.store.get(f"report/{number}"))

    def round(self, number, losses):
        if dist.get_rank() == self.writer:
            self.publish(number, losses)
        return self.await_it(number)

    def farewell(self):
        dist.monitored_barrier(timeout=datetime.timedelta(seconds=120))
