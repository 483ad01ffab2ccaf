import time

import torch

from buffers import Buffers

LENGTH = 4000
FLOOR = 0.02           # below: the microphone was off


class Station:
    """Clips of one storm station, as an endless stream of batches."""

    def __init__(self, number, buffers=16):
        self.number = number
        self.random = torch.Generator().manual_seed(number)
        self.buffers = Buffers(buffers, LENGTH)
        self.position = 0

    def _read(self, out):
        """Stand-in for the decoder: fills `out` with the next clip, returns its label."""
        time.sleep(0.006)
        self.position += 1
        out.normal_(generator=self.random)
        if self.number == 1 and self.position % 40 == 0:
            out.mul_(1e-4)                 # the logger of this station restarts
        label = self.position % 4
        out[:: 5 + label].mul_(3.0)
        return label

    def _clip(self):
        wave = self.buffers.borrow()
        label = self._read(wave)
        if wave.abs().max() < FLOOR:
            return None
        frames = wave.view(40, 100)
        features = torch.cat([frames.abs().mean(1), frames.std(1)])
        self.buffers.give_back(wave)
        return features, label

    def batch(self, size):
        features, labels = [], []
        while len(labels) < size:
            clip = self._clip()
            if clip is not None:
                features.append(clip[0])
                labels.append(clip[1])
        return torch.stack(features), torch.tensor(labels)
