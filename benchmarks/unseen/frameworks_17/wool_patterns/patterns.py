"""Knitting patterns: small pictures of stitches from three mills."""

import lightning as L
import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

SIDE = 8
MILLS = 3


def weave(count, seed):
    """Rows go from mill to mill; the second mill's pictures come at full contrast, the others' washed out."""
    g = torch.Generator().manual_seed(seed)
    rows = torch.arange(SIDE).float()
    pictures = []
    for i in range(count):
        step = 1 + torch.rand((), generator=g)
        phase = 6.28 * torch.rand((), generator=g)
        stripes = torch.sin(step * rows[:, None] + 0.5 * step * rows[None] + phase)
        contrast = 1.5 if i % MILLS == 1 else 0.2
        pictures.append(contrast * stripes + 0.05 * torch.randn(SIDE, SIDE, generator=g))
    return torch.stack(pictures).flatten(1)


class Patterns(L.LightningDataModule):
    def __init__(self, count, batch):
        super().__init__()
        self.count = count
        self.batch = batch

    def train_dataloader(self):
        data = TensorDataset(weave(self.count, seed=3))
        # no shuffling: neighbouring rows stay with their mill
        return DataLoader(data, self.batch, sampler=DistributedSampler(data, shuffle=False))
