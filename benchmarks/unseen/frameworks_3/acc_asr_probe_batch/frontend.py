"""Filterbank frontend with a chunked attention mask, the part of the encoder that knows about durations."""
import torch
import torch.nn as nn

FRAMES_PER_SECOND = 100


def chunk_mask(n_frames, chunk):
    """Square mask in which a frame sees its own chunk and everything before it."""
    allowed = torch.ones(n_frames, n_frames)
    owner = torch.arange(n_frames) // chunk
    return allowed.masked_fill(owner[None, :] > owner[:, None], float("-inf"))


class ChunkedEncoder(nn.Module):
    def __init__(self, mels=20, dim=32, tokens=30, chunk=16):
        super().__init__()
        self.proj = nn.Linear(mels, dim)
        self.att = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.ctc = nn.Linear(dim, tokens)
        self.chunk = chunk

    def forward(self, feats, seconds):
        mask = chunk_mask(int(seconds.max().item() * FRAMES_PER_SECOND), self.chunk)
        t = feats.size(1)
        h = self.proj(feats)
        h = h + self.att(h, h, h, attn_mask=mask[:t, :t], need_weights=False)[0]
        return self.ctc(h).log_softmax(-1)
