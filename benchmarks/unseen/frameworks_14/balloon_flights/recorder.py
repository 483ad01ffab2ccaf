"""Keeps a table of what the model predicts, in a process of its own so that the training does not wait for the disk."""

import csv
import multiprocessing
import os


def record(queue, path, names, capacity):
    """Writes rows until there are `capacity` of them, which is what the chart can show, or until None comes."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for _ in range(capacity):
            row = queue.get()
            if row is None:
                break
            writer.writerow([f"{value:.4f}" for value in row])


class Recorder:
    """Takes rows from the training loop and passes them on to the process that writes them."""

    def __init__(self, path, names, capacity=100):
        self.path = path
        context = multiprocessing.get_context("fork")
        self.queue = context.Queue()
        self.process = context.Process(target=record, args=(self.queue, path, names, capacity))
        self.process.start()

    def add(self, values):
        self.queue.put(values.tolist())

    def close(self):
        self.queue.put(None)
        self.process.join()
        size = os.path.getsize(self.path)
        os.remove(self.path)
        return size


class NoRecorder:
    """On the processes that have nothing to write."""

    def add(self, values):
        pass

    def close(self):
        return 0
