"""Batches prepared by a thread ahead of the training loop."""
import queue
import threading
import time


class Prefetch:
    """Context manager around a source of batches.

        with Prefetch(source, depth=4) as batches:
            for batch in batches:
                ...

    The thread is gone when the block has been left, so that the next epoch may use the source again.
    """

    END = object()

    def __init__(self, source, depth=4):
        self.source = source
        self.queue = queue.Queue(maxsize=depth)
        self.thread = threading.Thread(target=self.produce, name="prefetch")
        self.produced = 0
        self.starved = 0.0

    def produce(self):
        for batch in self.source:
            self.queue.put(batch)
            self.produced += 1
        self.queue.put(self.END)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, error, traceback):
        self.thread.join()

    def __iter__(self):
        while True:
            asked = time.monotonic()
            batch = self.queue.get()
            self.starved += time.monotonic() - asked
            if batch is self.END:
                return
            yield batch
