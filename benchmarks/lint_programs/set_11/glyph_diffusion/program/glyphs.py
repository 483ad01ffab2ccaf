import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Glyphs(Dataset):
    def __init__(self, images, size, seed):
        gen = torch.Generator().manual_seed(seed)
        bars = torch.rand(images, 1, size, 1, generator=gen).round() + torch.rand(images, 1, 1, size, generator=gen).round()
        self.images = bars - 1.0

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i]


def build_loader(cfg):
    data = Glyphs(cfg["images"], cfg["size"], cfg["seed"])
    sampler = DistributedSampler(data, shuffle=True, seed=cfg["seed"], drop_last=True)
    return DataLoader(data, batch_size=cfg["batch_size"], sampler=sampler, drop_last=True)
