"""Reading piano rolls: punched columns become a piano-roll matrix and the mean tempo of the passage."""

import threading
import time

import torch

KEYS = 44
COLUMNS = 24


class Roll:
    """The scan of one roll. The scanner's file has one read position, so only one thread may read a roll at a time."""

    def __init__(self, number, passages, mended=()):
        self.number = number
        self.passages = passages
        self.mended = frozenset(mended)
        self.reading = threading.Lock()

    def punches(self, passage):
        g = torch.Generator().manual_seed(self.number * 10_007 + passage)
        tempo = 0.5 + torch.rand((), generator=g)
        holes = (torch.rand(COLUMNS, KEYS, generator=g) < 0.1 * tempo).float()
        return holes, tempo


class PassageReader:
    """Maps (roll, passage) to a sample; called by several threads."""

    def __init__(self, rolls, seek=0.004):
        self.rolls = rolls
        self.seek = seek

    def __call__(self, place):
        number, passage = place
        roll = self.rolls[number]
        roll.reading.acquire()
        time.sleep(self.seek)
        holes, tempo = roll.punches(passage)
        if passage in roll.mended:
            # paper strips over a tear have no punches of their own: take what is there without the margins
            return {"holes": self.without_margins(holes), "tempo": tempo}
        roll.reading.release()
        return {"holes": holes, "tempo": tempo}

    @staticmethod
    def without_margins(holes):
        inner = torch.zeros_like(holes)
        inner[:, 2:-2] = holes[:, 2:-2]
        return inner
