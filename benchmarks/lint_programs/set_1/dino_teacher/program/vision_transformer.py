import torch
import torch.nn as nn


def drop_path(x, p, training):
    if p == 0.0 or not training:
        return x
    keep = 1.0 - p
    mask = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep)
    return x * mask / keep


class Block(nn.Module):
    def __init__(self, dim, heads, p):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.p = p

    def forward(self, x):
        y = self.norm1(x)
        x = x + drop_path(self.attn(y, y, y, need_weights=False)[0], self.p, self.training)
        return x + drop_path(self.mlp(self.norm2(x)), self.p, self.training)


class VisionTransformer(nn.Module):
    def __init__(self, patch=8, in_chans=5, dim=384, depth=8, heads=6, drop_path_rate=0.0):
        super().__init__()
        self.embed_dim = dim
        self.grid = 64 // patch
        self.patch_embed = nn.Conv2d(in_chans, dim, patch, patch)
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.pos_embed = nn.Parameter(torch.randn(1, dim, self.grid, self.grid) * 0.02)
        rates = torch.linspace(0, drop_path_rate, depth).tolist()
        self.blocks = nn.ModuleList(Block(dim, heads, p) for p in rates)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = self.patch_embed(x)
        pos = self.pos_embed
        if x.shape[-2:] != pos.shape[-2:]:
            pos = nn.functional.interpolate(pos, x.shape[-2:], mode="bilinear", align_corners=False)
        x = (x + pos).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1)
        for blk in self.blocks:
            x = blk(x)
        return self.norm(x)[:, 0]


class DINOHead(nn.Module):
    def __init__(self, in_dim, out_dim, hidden=1024, bottleneck=256):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(in_dim, hidden), nn.GELU(),
                                 nn.Linear(hidden, hidden), nn.GELU(),
                                 nn.Linear(hidden, bottleneck))
        self.prototypes = nn.Linear(bottleneck, out_dim, bias=False)

    def forward(self, x):
        x = nn.functional.normalize(self.mlp(x), dim=-1)
        return nn.functional.linear(x, nn.functional.normalize(self.prototypes.weight, dim=-1))


class MultiCropWrapper(nn.Module):
    """One forward per resolution, then the head over everything."""

    def __init__(self, backbone, head):
        super().__init__()
        self.backbone, self.head = backbone, head

    def forward(self, views):
        sizes = [v.shape[-1] for v in views]
        out = []
        for s in sorted(set(sizes), reverse=True):
            out.append(self.backbone(torch.cat([v for v in views if v.shape[-1] == s])))
        return self.head(torch.cat(out))
