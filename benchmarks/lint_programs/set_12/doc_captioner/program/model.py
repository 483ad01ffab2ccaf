import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, w))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class FigureTower(nn.Module):
    def __init__(self, width, patch=8, image_size=32):
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.pos = nn.Parameter(torch.zeros(1, (image_size // patch) ** 2, width))
        self.blocks = nn.Sequential(*[Block(width, 4, causal=False) for _ in range(2)])
        self.norm = nn.LayerNorm(width)

    def forward(self, figures):
        x = self.patch(figures).flatten(2).transpose(1, 2) + self.pos
        return self.norm(self.blocks(x).mean(1))


class Captioner(nn.Module):
    def __init__(self, vocab, seq_len, width, image_size):
        super().__init__()
        self.image_size = image_size
        self.tower = FigureTower(width, image_size=image_size)
        self.bridge = nn.Linear(width, width)
        self.embed = nn.Embedding(vocab, width)
        self.pos = nn.Parameter(torch.zeros(1, seq_len, width))
        self.decoder = nn.Sequential(*[Block(width, 4, causal=True) for _ in range(4)])
        self.head = nn.Linear(width, vocab)

    def merge(self, h, figures, owners):
        if figures.shape[0] == 0:
            return h
        context = self.bridge(self.tower(figures.to(h.dtype)))
        return h.index_add(0, owners, context.unsqueeze(1).expand(-1, h.shape[1], -1))

    def forward(self, inputs, targets, figures, owners):
        h = self.embed(inputs) + self.pos
        h = self.merge(h, figures, owners)
        logits = self.head(self.decoder(h))
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())
