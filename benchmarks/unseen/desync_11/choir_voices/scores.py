import time

import torch
from torch.utils.data import Dataset

FEATURES = 22
SOPRANO, BASS = 0, 1


class Bars(Dataset):
    """Bars of the recordings of one choir: features of the notes, which voice sings each, and its intonation in cents."""

    def __init__(self, choir, bars, notes=14):
        self.choir, self.bars, self.notes = choir, bars, notes

    def __len__(self):
        return self.bars

    def high_voices_only(self, bar):
        """The third choir recorded a piece for boys' voices with one solo bar."""
        return self.choir == 2 and bar == 140

    def __getitem__(self, bar):
        generator = torch.Generator().manual_seed(3000 * self.choir + bar)
        time.sleep(0.04 + 0.02 * torch.rand(1, generator=generator).item())
        notes = torch.randn(self.notes, FEATURES, generator=generator)
        voice = torch.randint(0, 2, (self.notes,), generator=generator)
        voice[:3] = BASS
        voice[3:6] = SOPRANO
        if self.high_voices_only(bar):
            voice[:] = SOPRANO
        cents = torch.tanh(notes[:, 0] - notes[:, 1] * (1 + voice))
        return notes, voice, cents
