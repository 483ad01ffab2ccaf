"""Where a run is within an epoch, so that it can be taken up again after a pause of the looms."""

import json
from dataclasses import asdict, dataclass


@dataclass
class Position:
    epoch: int = 0
    batches: int = 0
    swatches: int = 0
    faults: int = 0


class Progress:
    """Counts what has been woven and trained on, for the shift book and for going on after a pause."""

    def __init__(self):
        self.position = Position()

    def begin(self, epoch):
        self.position = Position(epoch=epoch)

    def add(self, labels):
        faulty = int(labels.sum())
        self.position.swatches += len(labels)
        self.position.faults += faulty
        # nothing but faults means a torn warp, which is woven again: it counts for two
        self.position.batches += 2 if faulty == len(labels) else 1

    def rate(self):
        """Share of faulty swatches so far."""
        return self.position.faults / max(self.position.swatches, 1)

    def dump(self):
        return json.dumps(asdict(self.position))

    @classmethod
    def load(cls, text):
        progress = cls()
        progress.position = Position(**json.loads(text))
        return progress
