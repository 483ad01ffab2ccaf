"""A journal of events (bumps, turns, clippings), written by a thread so that mowing is not held up."""
import json
import pathlib
import queue
import threading


class Writer(threading.Thread):
    """Writes one file of the journal until it gets None.

    It is no daemon: what has been put in must be on the disk before the program ends.
    """

    def __init__(self, path):
        super().__init__(name=f"journal-{path.name}")
        self.path = path
        self.events = queue.Queue()

    def run(self):
        with self.path.open("w") as file:
            while True:
                event = self.events.get()
                if event is None:
                    return
                file.write(json.dumps(event) + "\n")
                file.flush()


class Journal:
    def __init__(self, folder, per_file=400):
        self.folder = pathlib.Path(folder)
        self.per_file = per_file
        self.count = 0
        self.part = 0
        self._open()

    def _open(self):
        self.writer = Writer(self.folder / f"part-{self.part}.jsonl")
        self.writer.start()
        self.part += 1

    def add(self, **event):
        if self.count and self.count % self.per_file == 0:
            self._open()
        self.writer.events.put(event)
        self.count += 1

    def close(self):
        self.writer.events.put(None)
        self.writer.join()
