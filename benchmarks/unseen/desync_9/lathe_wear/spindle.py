"""Vibration of lathes, read in blocks from the recorder of a machine."""

import random
import time
import zlib

import torch
from torch.utils.data import IterableDataset

TAPS, PER_BLOCK = 20, 96


class Recorder:
    """Blocks of a machine as the recorder sends them, with a checksum."""

    def __init__(self, machine):
        self.machine, self.sent = machine, 0

    def block(self, number):
        generator = torch.Generator().manual_seed(20_000 * self.machine + number)
        cuts = torch.randn(PER_BLOCK, TAPS, generator=generator)
        checksum = zlib.crc32(cuts.numpy().tobytes())
        self.sent += 1
        if self.machine == 1 and self.sent == 12:
            cuts[-1] = 0.0
        return cuts, checksum


class Cuts(IterableDataset):
    """Cuts of one machine, handed on while a block is being checked.

    A block whose checksum is wrong is asked for again.
    """

    def __init__(self, machine, blocks, cuts_per_batch):
        self.recorder, self.blocks, self.cuts_per_batch = Recorder(machine), blocks, cuts_per_batch
        self.random = random.Random(machine)

    def __iter__(self):
        for number in range(self.blocks):
            complete = False
            while not complete:
                cuts, checksum = self.recorder.block(number)
                running = 0
                for cut in cuts:
                    running = zlib.crc32(cut.numpy().tobytes(), running)
                    time.sleep((0.045 + 0.02 * self.random.random()) / self.cuts_per_batch)
                    yield cut, cut[::4].abs().mean()
                complete = running == checksum
