import torch
from torch import nn

from .quantizer import ResidualVQ


class Codec(nn.Module):
    """Strided convolutions down to 1/16 of the rate, RVQ, and back."""

    def __init__(self, width=32, dim=64, books=4, codebook=256):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(1, width, 7, padding=3), nn.ELU(),
            nn.Conv1d(width, 2 * width, 8, stride=4, padding=2), nn.ELU(),
            nn.Conv1d(2 * width, 4 * width, 8, stride=4, padding=2), nn.ELU(),
            nn.Conv1d(4 * width, dim, 3, padding=1))
        self.rvq = ResidualVQ(books, codebook, dim)
        self.decoder = nn.Sequential(
            nn.Conv1d(dim, 4 * width, 3, padding=1), nn.ELU(),
            nn.ConvTranspose1d(4 * width, 2 * width, 8, stride=4, padding=2), nn.ELU(),
            nn.ConvTranspose1d(2 * width, width, 8, stride=4, padding=2), nn.ELU(),
            nn.Conv1d(width, 1, 7, padding=3), nn.Tanh())

    def forward(self, wav):
        z, commit, codes = self.rvq(self.encoder(wav))
        return self.decoder(z), commit, codes
