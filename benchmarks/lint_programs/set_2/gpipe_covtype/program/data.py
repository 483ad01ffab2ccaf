import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset


def standardize(x):
    mu, sd = x.mean(0, keepdims=True), x.std(0, keepdims=True)
    return (x - mu) / (sd + 1e-6)


def train_loader(path, batch_size, seed):
    blob = np.load(path)
    x = torch.from_numpy(standardize(blob["x"].astype(np.float32)))
    y = torch.from_numpy(blob["y"].astype(np.int64)) - 1
    # every stage walks the same batches in the same order
    order = torch.Generator().manual_seed(seed)
    return DataLoader(TensorDataset(x, y), batch_size=batch_size, shuffle=True, generator=order)
