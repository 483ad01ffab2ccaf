"""Recordings of three aviaries. Each item: spectrogram, phrase, and whether two birds sing at once."""
import time

import torch

BANDS, FRAMES, PHRASES = 24, 16, 6
DUET_SHARE = {0: 0.6, 1: 0.4, 2: 0.7}       # the second aviary has fewer birds


class Recordings:
    def __init__(self, seed, share, batches, batch=8):
        gen = torch.Generator().manual_seed(seed)
        n = batches * batch
        self.sound = torch.randn(n, FRAMES, BANDS, generator=gen)
        self.phrase = torch.randint(0, PHRASES, (n,), generator=gen)
        self.duet = torch.rand(n, generator=gen) < share
        # the annotators marked at least one duet in every ten minutes
        self.duet[::batch] = True
        self.batch = batch

    def __iter__(self):
        for i in range(0, len(self.phrase), self.batch):
            time.sleep(0.025)                # mel filter bank
            part = slice(i, i + self.batch)
            yield self.sound[part], self.phrase[part], self.duet[part]


def training(rank):
    return Recordings(31 + rank, DUET_SHARE[rank], batches=150)


def held_out(rank):
    part = Recordings(91 + rank, DUET_SHARE[rank], batches=12)
    if rank == 1:
        part.duet[-part.batch:] = False      # recorded while the big one was at the vet
    return part
