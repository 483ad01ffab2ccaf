import contextlib
import fcntl
import json
import os


class OpeningBook:
    """Games of one rank, a line each. Its referee and the rank itself may use it at the same time."""

    def __init__(self, folder, rank):
        self.path = os.path.join(folder, f"book-{rank}.jsonl")
        self.lock_path = self.path + ".lock"
        open(self.path, "a").close()

    @contextlib.contextmanager
    def locked(self):
        with open(self.lock_path, "a") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def append(self, games):
        with self.locked():
            with open(self.path, "a") as out:
                for game in games:
                    out.write(json.dumps(game) + "\n")

    def read(self):
        with open(self.path) as lines:
            return [json.loads(line) for line in lines]
