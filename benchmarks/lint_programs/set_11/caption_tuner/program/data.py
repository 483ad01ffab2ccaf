import torch
from torch.utils.data import DataLoader, Dataset


class Captions(Dataset):
    def __init__(self, samples, features, vocab, length, seed):
        gen = torch.Generator().manual_seed(seed)
        self.images = torch.randn(samples, features, generator=gen)
        key = torch.randn(features, length, generator=gen)
        self.tokens = ((self.images @ key).abs() * 37).long() % vocab

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return {"image": self.images[i], "tokens": self.tokens[i]}


def build_loaders(cfg):
    size = (cfg["samples"], cfg["features"], cfg["vocab"], cfg["length"])
    train = Captions(*size, seed=cfg["seed"])
    held = Captions(cfg["samples"] // 8, *size[1:], seed=cfg["seed"] + 1)
    return (
        DataLoader(train, batch_size=cfg["batch_size"], shuffle=True, drop_last=True),
        DataLoader(held, batch_size=cfg["batch_size"]),
    )
