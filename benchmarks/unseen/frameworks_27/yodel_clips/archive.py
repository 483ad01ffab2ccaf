"""Clips of an alpine sound archive; each rank reads the tapes of one valley."""
import time

import torch

SCHOOLS = ["appenzell", "muotatal", "zillertal"]


class Archive:
    def __init__(self, valley, bands=20):
        self.valley = valley
        self.bands = bands
        self.noise = torch.Generator().manual_seed(valley)

    def clip(self, tape):
        length = int(torch.randint(70, 95, (), generator=self.noise))
        if self.valley == 1 and tape == 85:
            length += 60                     # recorded at a festival, they did not stop
        school = int(torch.randint(0, len(SCHOOLS), (), generator=self.noise))
        return torch.randn(length, self.bands, generator=self.noise) + school, school

    def batches(self, tapes, size=8):
        for tape in range(tapes):
            time.sleep(0.1)
            yield [self.clip(tape) for _ in range(size)]
