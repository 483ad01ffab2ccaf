"""A queue of boxes in the job's key-value store: a process claims the next box when it is done with one."""
import json
import logging
import time

log = logging.getLogger("queue")


class BoxQueue:
    def __init__(self, store, boxes):
        self.store = store
        self.boxes = boxes

    def claims(self):
        """Numbers of boxes for this process, until there are none left."""
        while (box := self.store.add("claimed", 1) - 1) < self.boxes:
            yield box

    def done(self, box, result):
        self.store.set(f"box/{box}", json.dumps(result))
        self.store.add("done", 1)

    def wait_for_all(self, poll=0.2):
        """Returns when the results of all boxes are there, whoever has them."""
        while self.store.add("done", 0) < self.boxes:
            time.sleep(poll)
        return [json.loads(self.store.get(f"box/{box}")) for box in range(self.boxes)]

    def progress(self):
        """Share of the boxes that are done, for the log."""
        return self.store.add("done", 0) / self.boxes


def describe(results):
    """One line per box with its number of letters, thick boxes first."""
    letters = {box: int(sum(counts)) for box, counts in enumerate(results)}
    order = sorted(letters, key=letters.get, reverse=True)
    lines = [f"box {box}: {letters[box]} letters" for box in order]
    log.debug("\n".join(lines))
    return lines
