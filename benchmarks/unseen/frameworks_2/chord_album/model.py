import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mix = nn.Conv1d(dim, dim, 5, padding=4)
        self.feed = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        past = self.mix(self.norm(x).transpose(1, 2))[..., :x.shape[1]].transpose(1, 2)
        return x + self.feed(past)


class Lyricist(nn.Module):
    """Predicts the word that is sung on a note."""

    def __init__(self, dim, words):
        super().__init__()
        self.read = nn.Sequential(nn.Linear(dim, dim), nn.Tanh(), nn.Linear(dim, words))

    def forward(self, hidden, words):
        return F.cross_entropy(self.read(hidden), words)


class AlbumModel(nn.Module):
    def __init__(self, notes, dim, depth, words):
        super().__init__()
        self.embed = nn.Embedding(notes, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.next_note = nn.Linear(dim, notes)
        self.lyricist = Lyricist(dim, words)

    def forward(self, song):
        x = self.embed(song.notes[:, :-1])
        for block in self.blocks:
            x = block(x)
        parts = {"notes": F.cross_entropy(self.next_note(x).flatten(0, 1), song.notes[:, 1:].flatten())}
        sung = song.words[:, 1:] >= 0
        if sung.any():
            parts["words"] = self.lyricist(x[sung], song.words[:, 1:][sung])
        return sum(parts.values()), parts
