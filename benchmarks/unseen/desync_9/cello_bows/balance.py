"""Accumulation until all players together have played enough."""

import torch


class Balance:
    """Counts the frames of all processes and says when a step is full.

    The count is reduced with each recording, so that all processes have the same number.
    """

    def __init__(self, fabric, frames_per_step):
        self.fabric, self.frames_per_step = fabric, frames_per_step
        self.frames, self.recordings, self.steps = 0, 0, 0

    def add(self, sound):
        frames = torch.tensor(float(len(sound)))
        self.frames += int(self.fabric.all_reduce(frames, reduce_op="sum"))
        self.recordings += 1

    @property
    def full(self):
        return self.frames >= self.frames_per_step

    def take(self):
        scale = 1 / self.recordings
        self.frames, self.recordings = 0, 0
        self.steps += 1
        return scale
