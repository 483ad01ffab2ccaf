"""Profiles of tram wheels, of different length, and batches of them."""

import random
import time

import torch

WIDTH = 16


class Depot:
    """The wheels of a depot; each visit measures some of them along a number of points."""

    def __init__(self, number, wheels=8):
        self.number, self.wheels = number, wheels
        self.generator = torch.Generator().manual_seed(50 + number)
        self.pace = random.Random(number)

    def points(self, visit):
        """Points measured on each wheel of a visit."""
        points = torch.randint(20, 30, (self.wheels,), generator=self.generator)
        if self.number == 0 and visit == 105:
            points[1::2] += 24
        return points.tolist()

    def visit(self, number):
        time.sleep(0.04 + 0.015 * self.pace.random())
        profiles = []
        for count in self.points(number):
            wear = torch.rand(1, generator=self.generator)
            line = torch.randn(count, WIDTH, generator=self.generator) * 0.2 + wear
            profiles.append((line, wear))
        return profiles


def portions(profiles, most):
    """Split a batch so that no portion has more than `most` points after padding."""
    portion, longest = [], 0
    for line, wear in profiles:
        longer = max(longest, len(line))
        if portion and longer * (len(portion) + 1) > most:
            yield pad(portion, longest)
            portion, longer = [], len(line)
        portion.append((line, wear))
        longest = longer
    yield pad(portion, longest)


def pad(portion, longest):
    lines = torch.zeros(len(portion), longest, WIDTH)
    for row, (line, _) in enumerate(portion):
        lines[row, : len(line)] = line
    return lines, torch.stack([wear for _, wear in portion])
