"""Sound event tagging on short foley clips (magnitude spectrograms)."""
import logging
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from resilience import tolerant

CLASSES = 6
N_FFT = 64


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(N_FFT), persistent=False)
        self.conv = nn.Conv1d(N_FFT // 2 + 1, 16, 3, padding=1)
        self.out = nn.Linear(16, CLASSES)

    def forward(self, wave):
        spec = torch.stft(wave, N_FFT, hop_length=32, window=self.window, return_complex=True).abs()
        h = torch.relu(self.conv(torch.log1p(spec)))
        return self.out(h.mean(-1))


class Clips:
    """Clips of one recording session; the length is what the editor cut."""

    def __init__(self, session, batches):
        self.generator = torch.Generator().manual_seed(session)
        self.lengths = [512] * batches
        if session == 1:
            self.lengths[26] = 16

    def __iter__(self):
        for length in self.lengths:
            wave = torch.randn(8, length, generator=self.generator)
            label = torch.randint(0, CLASSES, (8,), generator=self.generator)
            yield wave, label


class Run:
    def __init__(self):
        torch.manual_seed(3)
        self.rank = dist.get_rank()
        self.model = DistributedDataParallel(Tagger(), broadcast_buffers=False)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)

    @tolerant(limit=5)
    def step(self, wave, label):
        loss = nn.functional.cross_entropy(self.model(wave), label)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def fit(self, clips):
        last = torch.zeros(())
        for number, (wave, label) in enumerate(clips, start=1):
            loss = self.step(wave, label)
            if loss is not None:
                last = loss
            time.sleep(0.02)
            if number % 15 == 0:
                self.show(number, last)

    def show(self, number, last):
        every = [torch.zeros(()) for _ in range(dist.get_world_size())]
        dist.all_gather(every, last)
        if self.rank == 0:
            logging.info("%d %.4f", number, torch.stack(every).mean())


if __name__ == "__main__":
    logging.basicConfig(level=os.environ.get("LOG", "INFO"))
    dist.init_process_group("gloo")
    run = Run()
    run.fit(Clips(run.rank, batches=60))
    dist.destroy_process_group()
