from pathlib import Path

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset


class Frames(Dataset):
    """*.pt files with 'image' (1, H, W) and 'mask' (H, W); 255 in the mask is not annotated."""

    def __init__(self, folder):
        self.files = sorted(Path(folder).glob("*.pt"))
        if not self.files:
            raise FileNotFoundError(f"no frames under {folder}")

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        item = torch.load(self.files[i])
        return item["image"].float(), item["mask"].long()


class UltrasoundData(L.LightningDataModule):
    def __init__(self, root, batch_size, workers):
        super().__init__()
        self.root, self.batch_size, self.workers = Path(root), batch_size, workers

    def setup(self, stage=None):
        self.train, self.val = Frames(self.root / "train"), Frames(self.root / "val")

    def train_dataloader(self):
        return DataLoader(self.train, self.batch_size, shuffle=True, drop_last=True, num_workers=self.workers)

    def val_dataloader(self):
        return DataLoader(self.val, self.batch_size, num_workers=self.workers)
