"""Recordings of a pond, decoded in threads of torchdata's nodes."""

import threading
import time

import torch
from torch.utils.data import SequentialSampler
from torchdata.nodes import Batcher, Loader, Mapper, ParallelMapper, SamplerWrapper

SAMPLES = 512
BANDS = 32
SPECIES = 6


class Decoder:
    """Bands of a recording. The codec has room for `slots` recordings at once."""

    def __init__(self, pond, still, slots=2):
        self.pond = pond
        self.still = set(still)
        self.slots = threading.Semaphore(slots)

    def record(self, i):
        g = torch.Generator().manual_seed(self.pond * 100_000 + i)
        species = int(torch.randint(0, SPECIES, (), generator=g))
        if i in self.still:
            return torch.zeros(SAMPLES), species
        tone = torch.sin(torch.arange(SAMPLES) * (species + 1) * 0.15)
        return tone + 0.3 * torch.randn(SAMPLES, generator=g), species

    def __call__(self, i):
        self.slots.acquire()
        sound, species = self.record(i)
        if sound.abs().max() < 1e-4:
            # nothing to hear: no need for a transform
            return torch.zeros(BANDS), species
        time.sleep(0.002)
        spectrum = torch.fft.rfft(sound).abs()[: SAMPLES // 2]
        self.slots.release()
        return spectrum.view(BANDS, -1).mean(1).log1p(), species


def stack(items):
    return torch.stack([bands for bands, _ in items]), torch.tensor([species for _, species in items])


def make_loader(pond, count, batch, still=(), threads=3):
    node = SamplerWrapper(SequentialSampler(range(count)))
    node = ParallelMapper(node, Decoder(pond, still), num_workers=threads, method="thread")
    node = Batcher(node, batch, drop_last=True)
    return Loader(Mapper(node, stack))
