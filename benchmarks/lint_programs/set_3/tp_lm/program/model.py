import torch
import torch.nn as nn
import torch.nn.functional as F


class GatedMLP(nn.Module):
    def __init__(self, d, hid):
        super().__init__()
        self.gate, self.up = nn.Linear(d, hid, bias=False), nn.Linear(d, hid, bias=False)
        self.down = nn.Linear(hid, d, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self, d, hid, seq):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.mix = nn.Conv1d(d, d, 3, groups=d)
        self.mlp = GatedMLP(d, hid)

    def forward(self, x):
        h = F.pad(self.n1(x).transpose(1, 2), (2, 0))
        x = x + self.mix(h).transpose(1, 2)
        return x + self.mlp(self.n2(x))


class MixerLM(nn.Module):
    def __init__(self, vocab, d=64, hid=256, layers=3, seq=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(Layer(d, hid, seq) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))
