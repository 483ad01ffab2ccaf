import torch
import torch.nn as nn


def citation_graph(n, classes, feats, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(classes, (n,), generator=g)
    same = y[:, None] == y[None]
    prob = torch.where(same, 0.05, 0.005)
    adj = (torch.rand(n, n, generator=g) < prob).float()
    adj = ((adj + adj.T) > 0).float() + torch.eye(n)
    deg = adj.sum(1)
    norm = adj / (deg[:, None].sqrt() * deg[None].sqrt())
    proto = torch.randn(classes, feats, generator=g)
    x = proto[y] + 2.0 * torch.randn(n, feats, generator=g)
    perm = torch.randperm(n, generator=g)
    split = {"train": perm[: n // 2], "val": perm[n // 2:]}
    return x, y, norm, split


class GCN(nn.Module):
    def __init__(self, feats, classes, hid=64):
        super().__init__()
        self.a, self.b = nn.Linear(feats, hid), nn.Linear(hid, classes)
        self.drop = nn.Dropout(0.3)

    def forward(self, nodes, x, norm):
        h = self.drop(torch.relu(norm @ self.a(x)))
        return self.b(norm[nodes] @ h)
