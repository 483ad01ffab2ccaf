import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Views(Dataset):
    """Two noisy views of each sample."""

    def __init__(self, samples, inputs, seed):
        gen = torch.Generator().manual_seed(seed)
        groups = torch.randn(10, inputs, generator=gen)
        self.x = groups[torch.randint(10, (samples,), generator=gen)]
        self.x = self.x + 0.5 * torch.randn(samples, inputs, generator=gen)

    def __len__(self):
        return len(self.x)

    def view(self, x):
        keep = (torch.rand_like(x) > 0.2).float()
        return x * keep + 0.1 * torch.randn_like(x)

    def __getitem__(self, i):
        return self.view(self.x[i]), self.view(self.x[i])


def build_loader(cfg):
    data = Views(cfg["samples"], cfg["inputs"], cfg["seed"])
    sampler = DistributedSampler(data, shuffle=True, seed=cfg["seed"], drop_last=True)
    return DataLoader(data, batch_size=cfg["batch_size"], sampler=sampler, drop_last=True)
