"""Recordings of the sonar, unpacked once for each transect and used by all jobs of a machine."""
import contextlib
import fcntl
import json
import multiprocessing
import random
from pathlib import Path

fork = multiprocessing.get_context("fork")


def record(transect, pings, depth):
    rng = random.Random(f"sonar {transect}")
    floor = [rng.random() for _ in range(depth)]
    return [[value + rng.gauss(0.0, 0.1) for value in floor] for _ in range(pings)]


def serve(path, requests, answers):
    """A process that holds the recording and cuts windows out of it, so that the trainer need not keep it."""
    pings = json.loads(Path(path).read_text())
    for start, count in iter(requests.get, None):
        answers.put(pings[start : start + count])


class Transect:
    def __init__(self, path, length):
        self.length = length
        self.requests, self.answers = fork.SimpleQueue(), fork.SimpleQueue()
        self.server = fork.Process(target=serve, args=(str(path), self.requests, self.answers), daemon=True)
        self.server.start()

    def window(self, start, count):
        self.requests.put((start, count))
        return self.answers.get()


class Archive:
    def __init__(self, folder, pings=400, depth=16):
        self.folder = Path(folder)
        self.pings, self.depth = pings, depth
        self.opened = {}

    @contextlib.contextmanager
    def exclusive(self, transect):
        """No two jobs unpack the same transect at the same time; the lock goes with the file that is closed."""
        with open(self.folder / f"{transect}.lock", "w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield self.folder / f"{transect}.json"

    def open(self, transect):
        with self.exclusive(transect) as path:
            if not path.exists():
                path.write_text(json.dumps(record(transect, self.pings, self.depth)))
            self.opened[transect] = Transect(path, self.pings)
        return self.opened[transect]
