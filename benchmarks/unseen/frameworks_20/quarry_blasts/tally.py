"""What the quarries did in an epoch, added up over the job."""

import torch
from deepspeed import comm

FIELDS = ("blasts", "charges", "alarms", "misfires", "windows")


class Tally:
    """Counts of one quarry. `total()` gives those of all quarries together, on every rank."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.counts = dict.fromkeys(FIELDS, 0)

    def add(self, field, count=1):
        if field not in self.counts:
            raise KeyError(f"no such field: {field}")
        self.counts[field] += count

    def total(self):
        counts = torch.tensor([self.counts[field] for field in FIELDS])
        comm.all_reduce(counts)
        self.reset()
        return dict(zip(FIELDS, counts.tolist()))


class ShotBook:
    """The shotfirer's book: how many holes were charged in a week.

    A hole that is shared with the neighbouring bench is entered by both benches, with half a charge each.
    """

    def __init__(self, quarry):
        self.quarry = quarry
        self.shared = {(2, 2): 41}  # (quarry, week): window in which a shared hole was fired

    def charges(self, week, window, count):
        if self.shared.get((self.quarry, week)) == window:
            return count - 0.5
        return count
