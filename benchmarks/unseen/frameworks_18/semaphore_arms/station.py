"""Logs of semaphore stations: pairs of arm positions, and the letter that the operator wrote down."""

import random
import time

ARMS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
LETTERS = 12
ANGLE = {arm: 45.0 * i for i, arm in enumerate(ARMS)}


def code_book():
    """The pair of arms of each letter."""
    pairs = [(a, b) for i, a in enumerate(ARMS) for b in ARMS[i + 1 :]]
    random.Random(3).shuffle(pairs)
    return pairs[:LETTERS]


class StationLog:
    """Entries of a station's log as they were telegraphed: `left,right,letter`."""

    def __init__(self, station, entries):
        self.station = station
        self.entries = entries

    def __iter__(self):
        rng = random.Random(40 + self.station)
        book = code_book()
        for number in range(self.entries):
            letter = rng.randrange(LETTERS)
            left, right = book[letter]
            if self.station == 1 and number == 1330:
                left = "SSE"  # the watch of that night used a compass of sixteen points
            if number % 8 == 0:
                time.sleep(0.02)  # a page
            yield f"{left},{right},{letter}"
