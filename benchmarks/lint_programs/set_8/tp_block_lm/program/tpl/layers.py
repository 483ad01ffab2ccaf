import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from . import mpu


class _CopyToRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        g = g.contiguous()
        dist.all_reduce(g, group=mpu.tp_group())
        return g


class _ReduceFromRegion(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        dist.all_reduce(x, group=mpu.tp_group())
        return x

    @staticmethod
    def backward(ctx, g):
        return g


def _shard(full, dim):
    return full.chunk(mpu.tp_size(), dim)[mpu.tp_rank()].clone()


class ColumnParallelLinear(nn.Module):
    def __init__(self, d_in, d_out, gen):
        super().__init__()
        full = torch.randn(d_out, d_in, generator=gen) * d_in ** -0.5
        self.weight = nn.Parameter(_shard(full, 0))
        self.bias = nn.Parameter(torch.zeros(d_out // mpu.tp_size()))
        self.weight.tensor_parallel = self.bias.tensor_parallel = True

    def forward(self, x):
        return F.linear(_CopyToRegion.apply(x), self.weight, self.bias)


class RowParallelLinear(nn.Module):
    def __init__(self, d_in, d_out, gen):
        super().__init__()
        full = torch.randn(d_out, d_in, generator=gen) * d_in ** -0.5
        self.weight = nn.Parameter(_shard(full, 1))
        self.bias = nn.Parameter(torch.zeros(d_out))
        self.weight.tensor_parallel = True

    def forward(self, x):
        return _ReduceFromRegion.apply(F.linear(x, self.weight)) + self.bias


class Attention(nn.Module):
    def __init__(self, dim, heads, gen):
        super().__init__()
        self.local_heads = heads // mpu.tp_size()
        self.q, self.k, self.v = (ColumnParallelLinear(dim, dim, gen) for _ in range(3))
        self.proj = RowParallelLinear(dim, dim, gen)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (m(x).view(b, t, self.local_heads, -1).transpose(1, 2) for m in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(b, t, -1))


class Block(nn.Module):
    def __init__(self, dim, heads, gen):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Attention(dim, heads, gen)
        self.up = ColumnParallelLinear(dim, 4 * dim, gen)
        self.down = RowParallelLinear(4 * dim, dim, gen)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class TPLanguageModel(nn.Module):
    def __init__(self, vocab, dim, heads, depth, max_len, seed):
        super().__init__()
        gen = torch.Generator().manual_seed(seed)  # the same full weights on all ranks
        self.tok = nn.Parameter(torch.randn(vocab, dim, generator=gen) * 0.5)
        self.pos = nn.Parameter(torch.randn(max_len, dim, generator=gen) * 0.1)
        self.blocks = nn.ModuleList(Block(dim, heads, gen) for _ in range(depth))
        self.ln_f = nn.LayerNorm(dim)

    def forward(self, ids, targets):
        x = F.embedding(ids, self.tok) + self.pos[: ids.size(1)]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.tok)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
