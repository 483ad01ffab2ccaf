from dataclasses import dataclass

import torch


@dataclass
class Partition:
    x: torch.Tensor
    adj: torch.Tensor
    y: torch.Tensor
    train: torch.Tensor
    test: torch.Tensor


def load_partition(index, nodes, classes=4, dim=16):
    g = torch.Generator().manual_seed(100 + index)
    y = torch.randint(0, classes, (nodes,), generator=g)
    centre = torch.randn(classes, dim, generator=torch.Generator().manual_seed(0))
    x = centre[y] + 1.5 * torch.randn(nodes, dim, generator=g)
    same = (y[:, None] == y[None]).float()
    adj = (torch.rand(nodes, nodes, generator=g) < 0.02 + 0.1 * same).float().triu(1)
    adj = adj + adj.T + torch.eye(nodes)
    test = torch.rand(nodes, generator=g) < 0.25
    return Partition(x, adj / adj.sum(1, keepdim=True), y, ~test, test)
