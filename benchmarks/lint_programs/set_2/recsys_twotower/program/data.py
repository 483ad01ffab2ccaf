import numpy as np
import torch
from torch.utils.data import TensorDataset


def load_split(path):
    """npz with user, item (int) and label (0/1) columns."""
    z = np.load(path)
    return TensorDataset(torch.from_numpy(z["user"]).long(),
                         torch.from_numpy(z["item"]).long(),
                         torch.from_numpy(z["label"]).float())


def shard(ds, rank, world):
    """Contiguous part of a data set; sizes may differ by one."""
    bounds = np.linspace(0, len(ds), world + 1).astype(int)
    return torch.utils.data.Subset(ds, range(bounds[rank], bounds[rank + 1]))
