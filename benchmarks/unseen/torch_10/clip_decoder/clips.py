import dataclasses

import torch
from torch.utils.data import Dataset

from decoder import Decoder


@dataclasses.dataclass(frozen=True)
class Clip:
    number: int
    declared_frames: int
    stored_frames: int
    action: int


def catalogue(count, actions):
    g = torch.Generator().manual_seed(17)
    for number in range(count):
        frames = int(torch.randint(6, 14, (1,), generator=g))
        stored = frames - 2 if number == 333 else frames
        yield Clip(number, frames, stored, int(torch.randint(actions, (1,), generator=g)))


class Clips(Dataset):
    def __init__(self, count=960, actions=4, size=20):
        self.clips = list(catalogue(count, actions))
        self.size = size
        self.decoder = None

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, index):
        if self.decoder is None:
            self.decoder = Decoder()
        clip = self.clips[index]
        g = torch.Generator().manual_seed(clip.number)
        frames = 0.5 * torch.randn(clip.stored_frames, self.size, generator=g)
        frames[:, clip.action] += 1.0
        return self.decoder.decode(clip.declared_frames, frames), clip.action
