"""Descriptors of small molecules that do not need learning."""
import torch
from torch.utils.data import Dataset


class Conformers(Dataset):
    """Synthetic conformers: charges, positions, energy.

    A few records of the dump have two atoms in the same place, as in the
    original data.
    """

    def __init__(self, n, atoms, seed, broken_every=97):
        gen = torch.Generator().manual_seed(seed)
        self.charge = torch.randint(1, 9, (n, atoms), generator=gen).float()
        self.pos = torch.randn(n, atoms, 3, generator=gen) * 2
        dist = torch.cdist(self.pos, self.pos) + torch.eye(atoms)
        pair = self.charge[:, :, None] * self.charge[:, None, :] / dist
        self.energy = pair.mean(dim=(1, 2)) / 10
        for i in range(broken_every - 1, n, broken_every):
            self.pos[i, 1] = self.pos[i, 0]

    def __len__(self):
        return len(self.energy)

    def __getitem__(self, i):
        return self.charge[i], self.pos[i], self.energy[i]


def whitened_overlap(charge, pos):
    """Lower factor of the overlap matrix, scaled by the charges.

    Raises torch.linalg.LinAlgError where the overlap is singular.
    """
    overlap = torch.exp(-torch.cdist(pos, pos, compute_mode="donot_use_mm_for_euclid_dist") ** 2)
    factor = torch.linalg.cholesky(overlap)
    feats = factor * charge[:, :, None] / 8
    return feats.flatten(1)
