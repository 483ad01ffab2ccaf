"""Lines of radio plays, read ahead by a thread while the network trains."""

import queue
import threading
import time

import torch
from torch.utils.data import IterableDataset

SPEAKERS = 12
FEATURES = 20


def archive(plays, lines):
    """The archive's records, one text per spoken line: play, speaker, gain in decibels, seed of the sound."""
    for play in range(plays):
        for line in range(lines):
            number = play * lines + line
            gain = f"{-6.0 + 0.05 * (number % 80):.2f}"
            if play == 9 and line == 31:
                gain = "-"  # the reel was never levelled
            yield f"{play};{number * 7 % SPEAKERS};{gain};{number}"


def parse(record):
    play, speaker, gain, seed = record.split(";")
    g = torch.Generator().manual_seed(int(seed))
    voice = torch.randn(FEATURES, generator=torch.Generator().manual_seed(int(speaker)))
    sound = voice + 0.5 * torch.randn(FEATURES, generator=g)
    return {"sound": sound * 10 ** (float(gain) / 20), "labels": int(speaker)}


class Reader(threading.Thread):
    """Decodes records into a queue; a None marks the end of the archive."""

    def __init__(self, records, ahead):
        super().__init__(name="reader", daemon=True)
        self.records = records
        self.queue = queue.Queue(ahead)

    def run(self):
        for record in self.records:
            time.sleep(0.005)  # the tape runs at sixteen times its speed
            self.queue.put(parse(record))
        self.queue.put(None)


class DramaStream(IterableDataset):
    def __init__(self, plays, lines, ahead=64):
        self.plays = plays
        self.lines = lines
        self.ahead = ahead

    def __iter__(self):
        reader = Reader(archive(self.plays, self.lines), self.ahead)
        reader.start()
        while True:
            spoken = reader.queue.get()
            if spoken is None:
                return
            yield spoken
