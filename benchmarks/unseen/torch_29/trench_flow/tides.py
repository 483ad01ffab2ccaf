"""Sources (what the tide pushes into a segment), hour by hour."""
import time

import torch


class Tide:
    def __init__(self, segment, edge=20):
        self.segment, self.edge = segment, edge
        self.random = torch.Generator().manual_seed(60 + segment)

    def hour(self, hour):
        time.sleep(0.02)                        # the archive
        source = torch.randn(self.edge, self.edge, generator=self.random)
        strength = 0.2
        if self.segment == 2 and hour >= 60:
            strength = 1e-5                     # the sluice at the end of the trench is shut
        return strength * source
