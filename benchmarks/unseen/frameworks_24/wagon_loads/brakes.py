"""Braking distances of loaded wagons, from a simulation program that runs beside the training."""

import json
import subprocess
import sys
from pathlib import Path

import torch

FEATURES = 5


class Simulation:
    """simulate.py, kept running: a wagon in, a distance out."""

    def __init__(self):
        script = Path(__file__).with_name("simulate.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def distance(self, wagon):
        self.process.stdin.write(json.dumps(wagon) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        """Ends the program; what it had to say is kept for the report."""
        _, messages = self.process.communicate()
        return messages


class Yard:
    """Wagons as they leave a yard."""

    def __init__(self, number, heavy):
        self.number = number
        self.heavy = heavy  # share of wagons that are loaded beyond their plate
        self.rng = torch.Generator().manual_seed(40 + number)
        self.simulation = Simulation()

    def wagon(self):
        speed, slope, wear, wet, load = torch.rand(FEATURES, generator=self.rng).tolist()
        if torch.rand((), generator=self.rng).item() < self.heavy:
            load += 1.0
        return [speed, slope, wear, wet, load]

    def batch(self, size):
        wagons = [self.wagon() for _ in range(size)]
        distances = [self.simulation.distance(wagon) for wagon in wagons]
        return torch.tensor(wagons), torch.tensor(distances)
