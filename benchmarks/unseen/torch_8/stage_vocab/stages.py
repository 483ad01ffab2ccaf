import hashlib
import time

import torch
from torch import nn


class Front(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.table = nn.Embedding(vocab, dim)
        self.mix = nn.Linear(dim, dim)

    def forward(self, tokens):
        return torch.tanh(self.mix(self.table(tokens)))


class Back(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, dim), nn.GELU())
        self.out = nn.Linear(dim, classes)

    def forward(self, h):
        return self.out(self.body(h).mean(1))


class LabelTrie:
    """Prefix index over the label strings; takes a while the first time."""

    def __init__(self, labels, seconds):
        self.root = {}
        until = time.monotonic() + seconds
        i = 0
        while time.monotonic() < until or i < labels:
            node = self.root
            for ch in hashlib.md5(str(i % labels).encode()).hexdigest()[:6]:
                node = node.setdefault(ch, {})
            node["id"] = i % labels
            i += 1
            if i % 200 == 0:
                time.sleep(0.005)
