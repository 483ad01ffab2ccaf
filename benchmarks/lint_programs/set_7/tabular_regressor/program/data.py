import csv

import torch
from torch.utils.data import DataLoader, TensorDataset, random_split


def read_table(path):
    if path is None:
        g = torch.Generator().manual_seed(0)
        x = torch.randn(1000, 8, generator=g)
        w = torch.randn(8, 1, generator=g)
        y = torch.sin(x @ w) + 0.1 * torch.randn(1000, 1, generator=g)
        return x, y
    with open(path, newline="") as f:
        rows = [[float(v) for v in row] for row in list(csv.reader(f))[1:]]
    table = torch.tensor(rows)
    return table[:, :-1], table[:, -1:]


def build_loaders(cfg):
    x, y = read_table(cfg.csv)
    dataset = TensorDataset(x, y)
    n_val = int(cfg.val_fraction * len(dataset))
    train_set, val_set = random_split(dataset, [len(dataset) - n_val, n_val])
    train_loader = DataLoader(train_set, cfg.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, cfg.batch_size)
    return train_loader, val_loader, x.size(1)
