"""The bench's protocol: rows are handed to a thread, the bench's disk being slow at times."""
import csv
import math
import os
import queue
import threading


class Protocol:
    def __init__(self, folder, bench):
        self.file = open(os.path.join(folder, f"bench{bench}.csv"), "w", newline="")
        self.rows = queue.Queue()
        self.dropped = 0
        threading.Thread(target=self._write, name="protocol", daemon=True).start()

    def add(self, step, loss, kelvin):
        self.rows.put((step, loss, kelvin))

    def _write(self):
        writer = csv.writer(self.file)
        writer.writerow(["step", "loss", "kelvin"])
        while True:
            step, loss, kelvin = self.rows.get()
            if not math.isfinite(kelvin):
                self.dropped += 1
                continue
            writer.writerow([step, f"{loss:.6f}", f"{kelvin:.3f}"])
            self.rows.task_done()

    def close(self):
        self.rows.join()
        self.file.close()
        return self.dropped
