"""Clips of signs: positions of the hands in some frames, and which sign it is."""

import time

import torch
from torch.utils.data import Dataset

FRAMES, JOINTS, SIGNS = 6, 8, 5


class Clips(Dataset):
    def __init__(self, signer: int, count: int, clips_each: int = 6):
        self.signer, self.count, self.clips_each = signer, count, clips_each
        self.poses = torch.randn(SIGNS, FRAMES * JOINTS, generator=torch.Generator().manual_seed(77))

    def __len__(self):
        return self.count

    def hands_visible(self, index, generator):
        visible = 0.7 + 0.3 * torch.rand(self.clips_each, generator=generator)
        if (self.signer, index) == (1, 423):  # the lamp of the second studio was being replaced
            visible *= 0.1
        return visible

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.signer * 100_000 + index)
        time.sleep(0.015 + 0.01 * torch.rand(1, generator=generator).item())
        sign = torch.randint(0, SIGNS, (self.clips_each,), generator=generator)
        hands = self.poses[sign] + 1.5 * torch.randn(self.clips_each, FRAMES * JOINTS, generator=generator)
        return {"hands": hands, "sign": sign, "visible": self.hands_visible(index, generator)}
