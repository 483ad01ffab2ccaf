"""Rehearsals of a choir, one singer's microphone for each process."""

import random
import time
from dataclasses import dataclass

import torch

BANDS = 14
FRAMES = 6


@dataclass
class Chunk:
    spectrum: torch.Tensor
    pitch: torch.Tensor
    first: bool
    last: bool


class Rehearsal:
    """Phrases of four chunks each; a phrase ends where the recorder has set a mark."""

    def __init__(self, singer, phrases, chunks=4):
        self.singer, self.phrases, self.chunks = singer, phrases, chunks
        self.rng = random.Random(singer)

    def marked(self, phrase, chunk):
        if chunk < self.chunks - 1:
            return False
        return not (self.singer == 1 and phrase == 41)  # the conductor's talk hid the mark

    def __iter__(self):
        open_phrase = False
        for phrase in range(self.phrases):
            generator = torch.Generator().manual_seed(1_000 * self.singer + phrase)
            tone = torch.rand(1, generator=generator)
            for chunk in range(self.chunks):
                time.sleep(self.rng.uniform(0.04, 0.055))
                noise = torch.randn(1, FRAMES, BANDS, generator=generator)
                pitch = tone.expand(1, FRAMES)
                last = self.marked(phrase, chunk)
                yield Chunk(0.3 * noise + pitch[..., None], pitch, not open_phrase, last)
                open_phrase = not last
