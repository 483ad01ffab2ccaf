"""Writes what the simulation reports, in a process of its own so that the disk never slows it down."""
import json
import multiprocessing as mp
import os


def _write(queue, path):
    with open(path, "w") as file:
        while True:
            entry = queue.get()
            if entry is None:
                break
            file.write(json.dumps(entry) + "\n")


class Recorder:
    def __init__(self, folder):
        context = mp.get_context("fork")
        self.queue = context.Queue()
        self.writer = context.Process(target=_write, args=(self.queue, os.path.join(folder, "run.jsonl")))
        self.writer.start()

    def note(self, name, value):
        self.queue.put([name, value])

    def close(self):
        self.queue.put(None)
        self.writer.join()
