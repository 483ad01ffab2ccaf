import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def leaves(n, classes, size, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    ramp = torch.linspace(0, 6.283, size)
    freq = (y + 1).float()[:, None]
    veins = torch.sin(freq * ramp[None])
    x = veins[:, None, :, None] * veins[:, None, None, :]
    x = x.repeat(1, 3, 1, 1) + 0.4 * torch.randn(n, 3, size, size, generator=g)
    return TensorDataset(x, y)


def build_loader(cfg, split):
    d = cfg["data"]
    data = leaves(d[split], d["classes"], d["size"], seed=1 if split == "train" else 2)
    sampler = DistributedSampler(data, shuffle=split == "train", seed=cfg["seed"])
    return DataLoader(data, batch_size=cfg["batch_size"], sampler=sampler)
