import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_clips(n, frames, bins, tags, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, tags, (n,), generator=g)
    x = torch.randn(n, frames, bins, generator=g)
    for tag in range(tags):
        rows = y == tag
        x[rows, :, tag * bins // tags:(tag + 1) * bins // tags] += 0.8
    return TensorDataset(x, y)


def build_loader(cfg, split):
    d = cfg["data"]
    n, seed = (d["train"], 1) if split == "train" else (d["val"], 2)
    dataset = make_clips(n, d["frames"], d["bins"], d["tags"], seed)
    sampler = DistributedSampler(dataset, shuffle=split == "train", seed=cfg["seed"])
    return DataLoader(dataset, batch_size=cfg["batch_size"], sampler=sampler)
