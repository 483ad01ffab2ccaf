"""Recordings of single bandoneon reeds. The real ones lie on the workshop's disk; here they are synthesised."""
import math
import time

import torch

PITCHES = 12
LENGTH = 256
# reeds per rank; the third box came back from the field with its own recorder
BOXES = {0: "hohner", 1: "paolo", 2: "weltmeister"}


class ReedBox:
    def __init__(self, rank, count, seed=5):
        self.name = BOXES[rank % len(BOXES)]
        self.count = count
        self.generator = torch.Generator().manual_seed(seed + rank)

    def header(self, number):
        """What the recorder wrote in front of the samples."""
        channels = 1
        if self.name == "paolo" and number == 331:
            channels = 0                      # the recorder ran out of battery here
        return {"rate": 8000, "channels": channels, "reed": number % PITCHES}

    def read(self, number):
        head = self.header(number)
        if head["channels"] not in (1, 2):
            raise ValueError(f"{self.name}/{number:04d}.wav: {head['channels']} channels")
        tone = 110.0 * 2 ** (head["reed"] / 12)
        t = torch.arange(LENGTH) / head["rate"]
        wave = torch.sin(2 * math.pi * tone * t) + 0.2 * torch.randn(LENGTH, generator=self.generator)
        return wave, head["reed"]

    def batches(self, size):
        for start in range(0, self.count - size + 1, size):
            time.sleep(0.06)                  # about what the USB disk needs
            yield list(range(start, start + size))
