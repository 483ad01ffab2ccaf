"""Wake-word detection from field recordings with Lightning Fabric."""
import logging
import os
import time

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, Dataset

from resilience import tolerate

RATE = 400


class FieldRecordings(Dataset):
    def __init__(self, site: int, n: int = 480):
        self.site, self.n = site, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.site * 10_000 + i)
        word = int(torch.randint(0, 2, (1,), generator=g))
        t = torch.arange(RATE) / RATE
        wave = 0.3 * torch.randn(RATE, generator=g) + word * torch.sin(2 * torch.pi * 40 * t)
        if self.site == 0 and i == 188:
            wave = wave * 40  # clipping: somebody touched the microphone
        return wave, word


class WakeWord(nn.Module):
    def __init__(self, bands=16):
        super().__init__()
        self.filters = nn.Conv1d(1, bands, 32, stride=8)
        self.classifier = nn.Linear(bands, 2)

    def forward(self, wave):
        energy = self.filters(wave.unsqueeze(1)).square().mean(-1)
        return self.classifier(energy.add(1e-4).log())


def check_levels(wave):
    peak = wave.abs().amax(dim=1)
    if (peak > 8).any():
        raise ValueError(f"recording clips at {peak.max():.1f}")
    return wave


class Loop:
    def __init__(self, fabric, model, optimizer):
        self.fabric, self.model, self.optimizer = fabric, model, optimizer
        self.losses = []

    @tolerate(ValueError)
    def step(self, wave, word):
        loss = nn.functional.cross_entropy(self.model(check_levels(wave)), word)
        self.optimizer.zero_grad()
        self.fabric.backward(loss)
        self.fabric.clip_gradients(self.model, self.optimizer, max_norm=5.0)
        self.optimizer.step()
        self.losses.append(loss.item())
        return loss

    def run(self, loader, log_every=10):
        for i, (wave, word) in enumerate(loader, start=1):
            self.step(wave, word)
            time.sleep(0.02)
            if i % log_every == 0:
                recent = torch.tensor(self.losses[-log_every:]).mean()
                mean = self.fabric.all_reduce(recent)
                self.fabric.print(f"batch {i}: loss {mean.item():.4f}")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    fabric = Fabric(accelerator="cpu", strategy="ddp", devices=int(os.environ.get("LOCAL_WORLD_SIZE", 1)))
    fabric.launch()
    fabric.seed_everything(21)
    net = WakeWord()
    model, optimizer = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.05))
    loader = DataLoader(FieldRecordings(site=fabric.global_rank), batch_size=8)
    loop = Loop(fabric, model, optimizer)
    for epoch in range(2):
        loop.run(loader)
    fabric.barrier()
