import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


def seq_to_heads(x, group):
    """(b, s/P, h, d) -> (b, s, h/P, d)"""
    p = dist.get_world_size(group)
    b, s, h, d = x.shape
    x = x.view(b, s, p, h // p, d).permute(2, 0, 1, 3, 4).contiguous()
    out = torch.empty_like(x)
    dist.all_to_all_single(out, x, group=group)
    return out.permute(1, 0, 2, 3, 4).reshape(b, p * s, h // p, d)


def heads_to_seq(x, group):
    """(b, s, h/P, d) -> (b, s/P, h, d)"""
    p = dist.get_world_size(group)
    b, s, h, d = x.shape
    x = x.reshape(b, p, s // p, h, d).permute(1, 0, 2, 3, 4).contiguous()
    out = torch.empty_like(x)
    dist.all_to_all_single(out, x, group=group)
    return out.permute(1, 2, 0, 3, 4).reshape(b, s // p, p * h, d)


class SeqToHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return seq_to_heads(x, group)

    @staticmethod
    def backward(ctx, g):
        return heads_to_seq(g, ctx.group), None


class HeadsToSeq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return heads_to_seq(x, group)

    @staticmethod
    def backward(ctx, g):
        return seq_to_heads(g, ctx.group), None


class UlyssesBlock(nn.Module):
    def __init__(self, dim, heads, group):
        super().__init__()
        self.heads, self.group = heads, group
        self.norm_a, self.norm_m = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def attend(self, x):
        b, s, dim = x.shape
        q, k, v = self.qkv(x).view(b, s, 3 * self.heads, dim // self.heads).chunk(3, dim=2)
        q, k, v = (SeqToHeads.apply(t.contiguous(), self.group).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        return self.proj(HeadsToSeq.apply(y, self.group).flatten(2))

    def forward(self, x):
        x = x + self.attend(self.norm_a(x))
        return x + self.mlp(self.norm_m(x))


class ByteLM(nn.Module):
    def __init__(self, topo, dim=768, depth=12, heads=16, context=65536):
        super().__init__()
        piece = context // topo.sp
        self.offset = piece * topo.sp_rank
        self.emb = nn.Embedding(256, dim)
        self.pos = nn.Embedding(context, dim)
        self.blocks = nn.ModuleList(UlyssesBlock(dim, heads, topo.sp_group) for _ in range(depth))
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 256))

    def forward(self, x):
        at = torch.arange(self.offset, self.offset + x.size(1), device=x.device)
        h = self.emb(x) + self.pos(at)
        for blk in self.blocks:
            h = blk(h)
        return self.head(h)
