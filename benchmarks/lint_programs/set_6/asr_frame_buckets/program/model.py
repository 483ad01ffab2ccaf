from torch import nn


class ConvCTC(nn.Module):
    stride = 4

    def __init__(self, n_mels=40, vocab=28, dim=96, layers=2):
        super().__init__()
        self.subsample = nn.Sequential(
            nn.Conv1d(n_mels, dim, 3, stride=2, padding=1), nn.GELU(),
            nn.Conv1d(dim, dim, 3, stride=2, padding=1), nn.GELU(),
        )
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim * 2), nn.GELU(), nn.Linear(dim * 2, dim))
            for _ in range(layers)
        )
        self.out = nn.Linear(dim, vocab)

    def forward(self, feats, lengths):
        x = self.subsample(feats.transpose(1, 2)).transpose(1, 2)
        for block in self.blocks:
            x = x + block(x)
        return self.out(x).log_softmax(-1), (lengths + self.stride - 1) // self.stride
