from torch import nn

from quantizer import EMAQuantizer


class TileCodec(nn.Module):
    def __init__(self, width, dim, codes):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1), nn.GELU(),
            nn.Conv2d(width, width, 4, 2, 1), nn.GELU(),
            nn.Conv2d(width, dim, 1))
        self.quantizer = EMAQuantizer(codes, dim)
        self.decoder = nn.Sequential(
            nn.Conv2d(dim, width, 1), nn.GELU(),
            nn.ConvTranspose2d(width, width, 4, 2, 1), nn.GELU(),
            nn.ConvTranspose2d(width, 3, 4, 2, 1))

    def forward(self, x):
        q, commit, idx = self.quantizer(self.encoder(x))
        return self.decoder(q), commit, idx
