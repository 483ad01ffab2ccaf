from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset


class TileFolder(Dataset):
    def __init__(self, root, crop):
        self.root = Path(root)
        self.files = (self.root / "index.txt").read_text().split()
        self.crop = crop

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        img = torch.from_numpy(np.load(self.root / self.files[i])).permute(2, 0, 1)
        _, h, w = img.shape
        top = torch.randint(0, h - self.crop + 1, ()).item()
        left = torch.randint(0, w - self.crop + 1, ()).item()
        img = img[:, top:top + self.crop, left:left + self.crop].float() / 255.0
        if torch.rand(()) < 0.5:
            img = img.flip(-1)
        return (img - 0.45) / 0.225
