"""Temperature profiles of kilns, read from the controllers' memory."""

import random
import time

import torch

LENGTH = 40
CLASSES = 4


class Damaged(Exception):
    pass


class ProfileReader:
    """Reads batches of one kiln, again where a transfer was damaged.

    `reads` is the number of transfers so far.
    """

    glitches = {(2, 132)}

    def __init__(self, kiln, batch):
        self.kiln, self.batch = kiln, batch
        self.reads = 0
        self.pace = random.Random(kiln)

    def transfer(self):
        """One transfer; the controller adds a checksum."""
        time.sleep(0.045 + 0.02 * self.pace.random())
        self.reads += 1
        generator = torch.Generator().manual_seed(self.kiln * 1_000_000 + self.reads)
        kind = torch.randint(0, CLASSES, (self.batch,), generator=generator)
        time_axis = torch.linspace(0, 3, LENGTH)
        slope = (kind.float() + 1).unsqueeze(1)
        profile = (slope * time_axis).tanh() + 0.2 * torch.randn(self.batch, LENGTH, generator=generator)
        checksum = profile.sum().item()
        if (self.kiln, self.reads) in self.glitches:
            profile[0, 5] = 900.0
        return profile, kind, checksum

    def read(self, attempts=3):
        for _ in range(attempts):
            profile, kind, checksum = self.transfer()
            if abs(profile.sum().item() - checksum) < 1e-3:
                return profile, kind
        raise Damaged(f"kiln {self.kiln}: {attempts} damaged transfers")
