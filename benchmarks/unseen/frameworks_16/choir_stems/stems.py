"""Stems of choral recordings on disk, and the mixing of two of them."""

import threading
import time

import torch

SAMPLES = 64
VOICES = ["soprano", "alto", "tenor", "bass", "organ", "descant"]


class StemShelf:
    """One open file for each voice; a file has one read position, hence one lock for each."""

    def __init__(self, choir, latency=0.02):
        self.choir = choir
        self.latency = latency
        self.locks = [threading.Lock() for _ in VOICES]
        self.positions = [0] * len(VOICES)

    def read(self, voice):
        """The next block of a voice; the caller holds the lock of the voice."""
        position = self.positions[voice]
        self.positions[voice] = position + 1
        time.sleep(self.latency)
        g = torch.Generator().manual_seed(1000 * self.choir + 100 * voice + position % 50)
        tone = torch.sin(torch.arange(SAMPLES) * (voice + 1) * 0.2)
        return tone + 0.3 * torch.randn(SAMPLES, generator=g)


class Mixer:
    """Mixes the leading voice with the one that answers; both keep their position until the mix is done."""

    def __init__(self, shelf, gain=0.7):
        self.shelf = shelf
        self.gain = gain
        self.locks = shelf.locks

    def __call__(self, cue):
        lead, answer = cue
        with self.locks[lead]:
            leading = self.shelf.read(lead)
            with self.locks[answer]:
                answering = self.shelf.read(answer)
        return leading + self.gain * answering, torch.tensor([lead, answer])


def programme(choir, cues):
    """Cues of an evening: (lead, answer). The second choir sings the last part antiphonally."""
    g = torch.Generator().manual_seed(choir)
    order = []
    for i in range(cues):
        low = int(torch.randint(len(VOICES) - 1, (1,), generator=g))
        high = int(torch.randint(low + 1, len(VOICES), (1,), generator=g))
        order.append((low, high))
    if choir == 1:
        half = cues // 3
        order[half:] = [(0, 3) if i % 2 == 0 else (3, 0) for i in range(cues - half)]
    return order
