import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from . import parallel as mpu


class _Enter(torch.autograd.Function):
    """Identity forward, all-reduce of the gradient backward."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        dist.all_reduce(grad, group=mpu.tp_group())
        return grad


class _Leave(torch.autograd.Function):
    """All-reduce forward, identity backward."""

    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        dist.all_reduce(x, group=mpu.tp_group())
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


_GEN = None


def _split_param(rows, cols, std):
    # own stream for each tensor parallel rank, the same one in all replicas
    global _GEN
    if _GEN is None:
        _GEN = torch.Generator().manual_seed(torch.initial_seed() + 7919 * (mpu.tp_rank() + 1))
    p = nn.Parameter(torch.randn(rows, cols, generator=_GEN) * std)
    p.tp_split = True
    return p


class ParallelMLP(nn.Module):
    def __init__(self, dim):
        super().__init__()
        inner = 4 * dim // mpu.tp_size()
        self.w1 = _split_param(inner, dim, 0.02)
        self.w2 = _split_param(dim, inner, 0.02)

    def forward(self, x):
        h = F.gelu(F.linear(_Enter.apply(x), self.w1))
        return _Leave.apply(F.linear(h, self.w2))


class ParallelAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        assert heads % mpu.tp_size() == 0
        self.heads = heads // mpu.tp_size()
        self.head_dim = dim // heads
        inner = self.heads * self.head_dim
        self.wqkv = _split_param(3 * inner, dim, 0.02)
        self.wo = _split_param(dim, inner, 0.02)

    def forward(self, x):
        b, s, _ = x.shape
        qkv = F.linear(_Enter.apply(x), self.wqkv).view(b, s, 3, self.heads, self.head_dim)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(b, s, -1)
        return _Leave.apply(F.linear(y, self.wo))


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn, self.mlp = ParallelAttention(dim, heads), ParallelMLP(dim)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab, dim, layers, heads, seq):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.wpe = nn.Embedding(seq, dim)
        self.layers = nn.ModuleList(Layer(dim, heads) for _ in range(layers))
        self.ln = nn.LayerNorm(dim)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.size(1), device=ids.device))
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.ln(x), self.wte.weight)
