import torch
from torch import nn


class NoteEncoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.project = nn.Linear(dim, dim)

    def forward(self, tokens):
        return torch.relu(self.project(self.embed(tokens)))


class CallEncoder(nn.Module):
    def __init__(self, bins, dim):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(bins, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, spectrum):
        return self.layers(spectrum)


class SpeciesModel(nn.Module):
    def __init__(self, vocab=120, bins=32, dim=32, species=6):
        super().__init__()
        self.notes = NoteEncoder(vocab, dim)
        self.calls = CallEncoder(bins, dim)
        self.head = nn.Linear(dim, species)

    def forward(self, tokens, spectra, recorded):
        features = self.notes(tokens)
        rows = recorded.nonzero().squeeze(1)
        if rows.numel():
            features = features.index_add(0, rows, self.calls(spectra[rows]))
        return self.head(features)
