import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Fields(Dataset):
    """Travelling waves on a small sphere grid, cut in patches."""

    def __init__(self, n, patches=24, patch_dim=16):
        self.n, self.patches, self.patch_dim = n, patches, patch_dim

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        k, phase = 1 + 4 * torch.rand(1, generator=g), 6.28 * torch.rand(1, generator=g)
        lon = torch.linspace(0, 6.28, self.patches * self.patch_dim).view(self.patches, self.patch_dim)
        noise = 0.05 * torch.randn(self.patches, self.patch_dim, generator=g)
        return torch.sin(k * lon + phase) + noise, torch.sin(k * lon + phase + 0.3)


def build_loader(n_fields, batch_size, shards, shard, seed):
    dataset = Fields(n_fields)
    sampler = DistributedSampler(dataset, num_replicas=shards, rank=shard, shuffle=True, seed=seed, drop_last=True)
    return DataLoader(dataset, batch_size, sampler=sampler, drop_last=True), sampler
