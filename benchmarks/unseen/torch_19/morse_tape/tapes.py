"""Recorded Morse tapes. A tape is kept in packed form and unpacked by a program of its own, as the museum does it."""
import dataclasses
import subprocess
import sys

import torch
from torch.utils.data import Dataset

UNPACK = r"""
import random
import sys

seed, marks = int(sys.argv[1]), int(sys.argv[2])
tape = random.Random(seed)
speed = tape.uniform(0.7, 1.3)
for mark in range(marks):
    long = tape.random() < 0.4
    key_down = (3.0 if long else 1.0) * speed + tape.gauss(0, 0.15)
    key_up = tape.choice((1.0, 1.0, 3.0, 7.0)) * speed + tape.gauss(0, 0.15)
    print("%d %.5f %.5f" % (long, key_down, key_up))
"""


@dataclasses.dataclass(frozen=True)
class Tape:
    seed: int
    marks: int


class Archive:
    """The tapes of the stations. Ships' tapes are short, the coastal station also kept whole nights."""

    def __init__(self, station, tapes):
        self.tapes = [Tape(10_000 * station + number, 160 + 20 * (number % 7)) for number in range(tapes)]
        if station == 1:
            for number in range(tapes * 3 // 5, tapes, 9):
                self.tapes[number] = dataclasses.replace(self.tapes[number], marks=6400)

    def __len__(self):
        return len(self.tapes)

    def unpack(self, number):
        tape = self.tapes[number]
        program = subprocess.Popen(
            [sys.executable, "-S", "-c", UNPACK, str(tape.seed), str(tape.marks)],
            stdout=subprocess.PIPE,
            text=True,
        )
        status = program.wait()
        if status != 0:
            raise RuntimeError(f"tape {number} cannot be unpacked, status {status}")
        with program.stdout as lines:
            return [line.split() for line in lines]


class Marks(Dataset):
    """A window of marks per tape: lengths of key down and key up, and whether the mark is a dash."""

    def __init__(self, archive, window=64):
        self.archive = archive
        self.window = window

    def __len__(self):
        return len(self.archive)

    def __getitem__(self, number):
        rows = self.archive.unpack(number)
        start = (7 * number) % (len(rows) - self.window)
        rows = rows[start:start + self.window]
        lengths = torch.tensor([[float(down), float(up)] for _, down, up in rows])
        dashes = torch.tensor([float(dash) for dash, _, _ in rows])
        return lengths, dashes
