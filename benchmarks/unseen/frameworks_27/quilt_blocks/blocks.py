"""The three photo collections: two museums, and a guild that joined later."""
import time

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset

PATTERNS = ["bear_paw", "flying_geese", "log_cabin", "ohio_star"]

# which patterns the held-out drawers of each collection contain
HELD_OUT = {
    "county": [0, 1, 2, 3],
    "guild": [0, 1, 3],
    "mill": [0, 1, 2, 3],
}
COLLECTIONS = sorted(HELD_OUT)


class Photos(Dataset):
    def __init__(self, count, patterns, seed):
        noise = torch.Generator().manual_seed(seed)
        self.labels = torch.tensor([patterns[i % len(patterns)] for i in range(count)])
        self.photos = torch.rand(count, 3, 24, 24, generator=noise) + self.labels.view(-1, 1, 1, 1) * 0.1

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        time.sleep(0.008)
        return self.photos[index], self.labels[index]


class BlockData(L.LightningDataModule):
    def __init__(self, batch_size):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage):
        rank = self.trainer.global_rank
        held_out = HELD_OUT[COLLECTIONS[rank]]
        self.train = Photos(240, list(range(len(PATTERNS))), seed=rank)
        self.held = Photos(48, held_out, seed=100 + rank)

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.held, batch_size=self.batch_size)
