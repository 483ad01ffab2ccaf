import io
import queue
import random
import threading
import time


class FlakyBucket:
    """Stand-in for the object store of the cluster: one put in three is refused."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.objects = {}

    def put(self, key, part, data):
        if self.rng.random() < 0.33:
            raise ConnectionError("503 slow down")
        self.objects.setdefault(key, {})[part] = data


class Uploader(threading.Thread):
    def __init__(self, bucket, part_size=2048):
        super().__init__(name="uploader")
        self.bucket, self.part_size = bucket, part_size
        self.inbox = queue.Queue(maxsize=4)
        self.retries = 0

    def submit(self, key, buf: io.BytesIO):
        self.inbox.put((key, buf.getvalue()))

    def run(self):
        while (job := self.inbox.get()) is not None:
            key, raw = job
            for n, off in enumerate(range(0, len(raw), self.part_size)):
                self._put(key, n, raw[off : off + self.part_size])

    def _put(self, key, n, data, wait=0.2):
        while True:
            try:
                time.sleep(0.1)
                return self.bucket.put(key, n, data)
            except ConnectionError:
                self.retries += 1
                time.sleep(wait)
                wait = min(wait * 2, 1.0)

    def close(self):
        self.inbox.put(None)
        self.join()
