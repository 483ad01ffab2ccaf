"""Strain signals of bridge spans, made by a small model of a passing lorry and of a crack."""
import math

import torch

LENGTH = 64
BRIDGES = ("viaduct", "footbridge", "swing bridge")
# relative noise of the gauges of each bridge; the swing bridge has the old ones
GAUGES = (0.05, 0.08, 0.45)


class Spans:
    def __init__(self, bridge, count, seed):
        random = torch.Generator().manual_seed(1000 * bridge + seed)
        at = torch.linspace(0, 1, LENGTH)
        axle = torch.rand(count, 1, generator=random) * 0.6 + 0.2
        width = torch.rand(count, 1, generator=random) * 0.1 + 0.05
        signal = torch.exp(-((at - axle) / width) ** 2)
        crack = torch.rand(count, 1, generator=random) < 0.5
        depth = torch.rand(count, 1, generator=random) * 0.4 + 0.2
        place = torch.rand(count, 1, generator=random)
        ring = depth * torch.sin(2 * math.pi * 9 * at) * torch.exp(-((at - place) / 0.15) ** 2)
        noise = GAUGES[bridge] * torch.randn(count, LENGTH, generator=random)
        self.signal = (signal + crack * ring + noise).unsqueeze(1)
        self.cracked = crack[:, 0].float()

    def __len__(self):
        return len(self.signal)

    def batches(self, size, random=None):
        order = torch.arange(len(self)) if random is None else torch.randperm(len(self), generator=random)
        for at in range(0, len(self) - size + 1, size):
            pick = order[at:at + size]
            yield self.signal[pick], self.cracked[pick]
