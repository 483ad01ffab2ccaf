import numpy as np
import torch
from torch.utils.data import Dataset, Subset


class Molecules(Dataset):
    """qm.npz: z (N, A) atomic numbers padded with 0, pos (N, A, 3), energy (N,)."""

    def __init__(self, path):
        with np.load(path) as f:
            self.z = torch.from_numpy(f["z"]).long()
            self.pos = torch.from_numpy(f["pos"]).float()
            self.energy = torch.from_numpy(f["energy"]).float()

    def __len__(self):
        return len(self.energy)

    def __getitem__(self, i):
        return self.z[i], self.pos[i], self.energy[i]


def split(dataset, fractions=(0.8, 0.1)):
    n = len(dataset)
    order = torch.randperm(n).tolist()
    a, b = int(fractions[0] * n), int((fractions[0] + fractions[1]) * n)
    return Subset(dataset, order[:a]), Subset(dataset, order[a:b]), Subset(dataset, order[b:])
