"""Samples of dyed wool: reflectance before and after years of light."""

import torch
from torch import nn
from torch.utils.data import Dataset

WAVELENGTHS = 40
DYES = ("madder", "weld", "woad", "cochineal", "walnut")


class WoolSamples(Dataset):
    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        self.dye = torch.randint(len(DYES), (count,), generator=g)
        base = torch.randn(len(DYES), WAVELENGTHS, generator=torch.Generator().manual_seed(0))
        fade = torch.rand(count, 1, generator=g)
        self.spectrum = base[self.dye] * (1 - 0.7 * fade) + 0.4 * torch.randn(count, WAVELENGTHS, generator=g)

    def __len__(self):
        return len(self.dye)

    def __getitem__(self, i):
        return {"spectrum": self.spectrum[i], "labels": self.dye[i]}


class DyeClassifier(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(WAVELENGTHS, width),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.BatchNorm1d(width),
            nn.ReLU(),
        )
        self.head = nn.Linear(width, len(DYES))

    def forward(self, spectrum, labels=None):
        logits = self.head(self.body(spectrum))
        if labels is None:
            return {"logits": logits}
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}
