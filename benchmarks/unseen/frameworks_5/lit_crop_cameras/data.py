import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset


class FieldRecording(Dataset):
    """One tractor's frames, alternating between its cameras."""

    def __init__(self, tractor, frames, size=12):
        g = torch.Generator().manual_seed(40 + tractor)
        self.image = torch.rand(frames, 3, size, size, generator=g)
        self.mask = (self.image[:, 1] > 0.6).float()
        self.camera = torch.arange(frames) % 2
        if tractor == 1:
            self.camera[58:61] = 2  # the boom camera was on for a moment

    def __len__(self):
        return len(self.image)

    def __getitem__(self, i):
        return self.image[i], self.mask[i], self.camera[i]


class Fields(L.LightningDataModule):
    def __init__(self, batch_size=4, batches=40):
        super().__init__()
        self.batch_size = batch_size
        self.batches = batches

    def train_dataloader(self):
        recording = FieldRecording(self.trainer.global_rank, self.batch_size * self.batches)
        return DataLoader(recording, batch_size=self.batch_size)
