import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

PATCH = 32
SIZE = 64


def load_case(case_id):
    """One (image, vessel mask) pair, SIZE x SIZE."""
    g = np.random.default_rng(case_id)
    yy, xx = np.mgrid[:SIZE, :SIZE] / SIZE
    mask = np.zeros_like(yy)
    for _ in range(int(g.integers(1, 4))):
        a, b, c = g.uniform(-1, 1, 3)
        mask = np.maximum(mask, np.abs(a * (xx - 0.5) + b * (yy - 0.5) + 0.3 * c) < 0.03)
    img = 0.6 * mask + g.normal(scale=0.3, size=mask.shape)
    return torch.tensor(img[None], dtype=torch.float32), torch.tensor(mask[None], dtype=torch.float32)


class TrainPatches(Dataset):
    """Tiles of the given cases, all kept in memory."""

    def __init__(self, case_ids, min_vessel):
        self.patches = []
        for cid in case_ids:
            img, mask = load_case(cid)
            for y in range(0, SIZE, PATCH):
                for x in range(0, SIZE, PATCH):
                    m = mask[:, y:y + PATCH, x:x + PATCH]
                    if m.mean() >= min_vessel:
                        self.patches.append((img[:, y:y + PATCH, x:x + PATCH], m))

    def __len__(self):
        return len(self.patches)

    def __getitem__(self, i):
        img, mask = self.patches[i]
        if torch.rand(()) < 0.5:
            img, mask = img.flip(-1), mask.flip(-1)
        return img, mask


class WholeCases(Dataset):
    def __init__(self, case_ids):
        self.case_ids = list(case_ids)

    def __len__(self):
        return len(self.case_ids)

    def __getitem__(self, i):
        return (self.case_ids[i], *load_case(self.case_ids[i]))


def build_loaders(args, rank, world):
    train_ids = list(range(args.n_train))
    val_ids = list(range(100_000, 100_000 + args.n_val))
    train = TrainPatches(train_ids[rank::world], args.min_vessel)
    val = WholeCases(val_ids[rank::world])
    return (DataLoader(train, args.batch_size, shuffle=True, drop_last=True),
            DataLoader(val, batch_size=4))
