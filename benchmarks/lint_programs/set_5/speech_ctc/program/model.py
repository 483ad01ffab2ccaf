import torch
from torch import nn


class CTCEncoder(nn.Module):
    def __init__(self, n_mels=80, dim=144, layers=4, vocab=29, dropout=0.1):
        super().__init__()
        self.sub = nn.Sequential(
            nn.Conv1d(n_mels, dim, 3, stride=2, padding=1), nn.GELU(),
            nn.Conv1d(dim, dim, 3, stride=2, padding=1), nn.GELU(),
        )
        layer = nn.TransformerEncoderLayer(dim, 4, dim * 4, dropout, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(dim, vocab)

    def forward(self, feats, feat_lens):
        x = self.sub(feats.transpose(1, 2)).transpose(1, 2)
        lens = torch.div(feat_lens, 4, rounding_mode="floor").clamp(min=1)
        pad = torch.arange(x.size(1), device=x.device)[None] >= lens[:, None]
        x = self.encoder(x, src_key_padding_mask=pad)
        return self.out(x).log_softmax(-1), lens
