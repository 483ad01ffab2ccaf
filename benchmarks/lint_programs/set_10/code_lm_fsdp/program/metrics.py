import json
import time


class JsonlLogger:
    """Writes a line of metrics every `every` steps, on the first rank.

    A value may be a function, called only when the line is due.
    """

    def __init__(self, path, rank, every):
        self.path, self.rank, self.every = path, rank, every
        self.start = time.time()

    def log(self, step, **values):
        if step % self.every:
            return
        if self.rank != 0:
            return
        row = {k: round(float(v() if callable(v) else v), 5) for k, v in values.items()}
        row.update(step=step, seconds=round(time.time() - self.start, 2))
        with open(self.path, "a") as f:
            f.write(json.dumps(row) + "\n")
        print(row, flush=True)
