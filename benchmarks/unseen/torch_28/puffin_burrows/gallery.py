"""Writes the clips with the highest error to disk, beside the training."""
import queue
import threading

import torch


class Gallery:
    def __init__(self, folder):
        self.folder = folder
        self.jobs = queue.Queue()
        self.written = 0
        threading.Thread(target=self._work, name="gallery", daemon=True).start()

    def add(self, name, frames):
        self.jobs.put((name, frames.detach().clone()))

    def _work(self):
        while True:
            name, frames = self.jobs.get()
            bright = frames[frames.flatten(1).amax(1) > 0.05]
            if len(bright) == 0:
                continue                     # the bird sat on the lens
            torch.save(bright, self.folder / f"{name}.pt")
            self.written += 1
            self.jobs.task_done()

    def close(self):
        self.jobs.join()
        print(f"{self.written} clips in the gallery", flush=True)
