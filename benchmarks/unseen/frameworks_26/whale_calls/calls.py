"""Calls of whales as frames of a spectrogram, one call after the other."""

import torch

BANDS = 24
POPULATIONS = 4
FADING = 261  # a call that sinks into the noise of the sea


class Calls:
    def __init__(self, count, seed):
        self.count = count
        self.seed = seed
        self.shapes = torch.randn(POPULATIONS, BANDS, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(self.seed * 10_000 + index)
        population = int(torch.randint(POPULATIONS, (), generator=g))
        frames = 30 + int(torch.randint(10, (), generator=g))
        call = self.shapes[population] + 0.7 * torch.randn(frames, BANDS, generator=g)
        call = call / call.abs().mean(1, keepdim=True)
        if index == FADING:
            tail = torch.ones(12, BANDS) * torch.tensor([0.5, 0.4, 0.3, 0.3, 0.25, 0.25, 0.2, 0.2, 0.2, 0.15, 0.15, 0.1])[:, None]
            call = torch.cat([call, tail])
        return call, population


class Front:
    """What is done to a call before the network: dither, and the silence at its end cut off."""

    def __init__(self, seed, dither=0.02, silence=0.1):
        self.generator = torch.Generator().manual_seed(seed)
        self.dither = dither
        self.silence = silence

    def __call__(self, call):
        level = call.abs().mean(1) + self.dither * torch.randn(len(call), generator=self.generator)
        loud = (level > self.silence).nonzero()
        return call[: int(loud[-1]) + 1]


def collate(items):
    """Pads the calls of a batch to the longest."""
    longest = max(len(call) for call, _ in items)
    frames = torch.zeros(len(items), longest, BANDS)
    for row, (call, _) in zip(frames, items):
        row[: len(call)] = call
    return frames, torch.tensor([population for _, population in items])
