import torch
import torch.nn as nn
import torch.nn.functional as F

from context import GatherSequence


def rope(x, positions, theta=500000.0):
    d = x.size(-1)
    freqs = theta ** (-torch.arange(0, d, 2, device=x.device, dtype=torch.float32) / d)
    angle = positions.float()[:, None] * freqs[None]
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


class Decoder(nn.Module):
    def __init__(self, par, dim, heads, ffn):
        super().__init__()
        self.par, self.heads = par, heads
        self.n1, self.n2 = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.o = nn.Linear(dim, dim, bias=False)
        self.w_in = nn.Linear(dim, 2 * ffn, bias=False)
        self.w_out = nn.Linear(ffn, dim, bias=False)

    def forward(self, x, positions, mask):
        b, s, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, s, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        q, k = rope(q, positions), rope(k, positions)
        kv = GatherSequence.apply(torch.cat((k, v), dim=-1), self.par)
        k, v = kv.chunk(2, dim=-1)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.o(y.transpose(1, 2).reshape(b, s, d))
        gate, up = self.w_in(self.n2(x)).chunk(2, dim=-1)
        return x + self.w_out(F.silu(gate) * up)


class LLM(nn.Module):
    def __init__(self, par, vocab=32000, dim=2048, layers=16, heads=16, ffn=5632):
        super().__init__()
        self.par = par
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Decoder(par, dim, heads, ffn) for _ in range(layers))
        self.norm = nn.RMSNorm(dim)
        self.unembed = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        s = ids.size(1)
        positions = torch.arange(s, device=ids.device) + self.par.cp_rank * s
        keys = torch.arange(s * self.par.cp, device=ids.device)
        mask = keys[None, :] <= positions[:, None]
        x = self.embed(ids)
        for layer in self.layers:
            x = torch.utils.checkpoint.checkpoint(layer, x, positions, mask, use_reentrant=False)
        return self.unembed(self.norm(x))
