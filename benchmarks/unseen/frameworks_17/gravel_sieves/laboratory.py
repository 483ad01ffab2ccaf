"""The laboratory of a pit, which sieves in a program of its own."""

import subprocess
import sys
from pathlib import Path

import torch

PROGRAM = Path(__file__).with_name("sieve.py")


class SievingFailed(RuntimeError):
    pass


class Laboratory:
    def __init__(self, pit, samples):
        self.pit = pit
        self.samples = samples

    def sieve(self, day):
        """Shares and strengths of the day's samples."""
        command = [sys.executable, str(PROGRAM), str(self.pit), str(day), str(self.samples)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        status = process.wait()
        if status:
            raise SievingFailed(f"pit {self.pit}, day {day}: status {status}")
        rows = [line.split() for line in process.stdout if not line.startswith("#")]
        process.stdout.close()
        table = torch.tensor([[float(cell) for cell in row] for row in rows])
        return table[:, :-1], table[:, -1]
