import torch

TENANTS = ["alder", "birch", "cedar", "dogwood", "elm"]


def mine(rank, world):
    return TENANTS[rank::world]


def batches(tenant, n=18):
    g = torch.Generator().manual_seed(sum(map(ord, tenant)))
    for _ in range(n):
        x = torch.randn(8, 9, generator=g)
        yield x, x.abs().sum(1, keepdim=True)
