import torch
import torch.nn as nn


class RelConv(nn.Module):
    def __init__(self, relations, d_in, d_out):
        super().__init__()
        self.self_loop = nn.Linear(d_in, d_out)
        self.rel = nn.ModuleDict({r: nn.Linear(d_in, d_out, bias=False) for r in relations})

    def forward(self, x, edges):
        out = self.self_loop(x)
        for name, (src, dst) in edges.items():
            msg = self.rel[name](x)[src]
            deg = torch.zeros(len(x), 1, device=x.device).index_add_(
                0, dst, torch.ones(len(dst), 1, device=x.device))
            agg = torch.zeros_like(out).index_add_(0, dst, msg)
            out = out + agg / deg.clamp_min(1)
        return out


class RGCN(nn.Module):
    def __init__(self, relations, d_in, hidden, classes):
        super().__init__()
        self.conv1 = RelConv(relations, d_in, hidden)
        self.conv2 = RelConv(relations, hidden, hidden)
        self.out = nn.Linear(hidden, classes)

    def forward(self, x, edges):
        h = self.conv1(x, edges).relu()
        h = self.conv2(h, edges).relu()
        return self.out(h)
