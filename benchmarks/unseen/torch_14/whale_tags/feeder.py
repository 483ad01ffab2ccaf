"""Batches that are made ready by a thread while the model is trained."""
import queue
import threading

import torch

END = object()


class Feeder(threading.Thread):
    """Takes dives from a source, makes batches of them and holds a few of them ready."""

    def __init__(self, source, size, ahead=4):
        super().__init__(name="feeder")
        self.source = source
        self.size = size
        self.queue = queue.Queue(maxsize=ahead)

    def collate(self, dives):
        profiles = torch.stack([dive.profile for dive in dives])
        feeding = torch.tensor([float(dive.feeding) for dive in dives])
        return profiles, feeding

    def run(self):
        dives = []
        for dive in self.source:
            dives.append(dive)
            if len(dives) == self.size:
                self.queue.put(self.collate(dives))
                dives = []
        self.queue.put(END)

    def __iter__(self):
        self.start()
        while True:
            batch = self.queue.get()
            if batch is END:
                break
            yield batch
        self.join()
