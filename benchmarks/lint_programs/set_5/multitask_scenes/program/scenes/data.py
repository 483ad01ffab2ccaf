from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset


class Scenes(Dataset):
    """<root>/train/*.npz with image (3,H,W) in [0,1], segmentation, depth and normals."""

    def __init__(self, root, split="train"):
        self.files = sorted((Path(root) / split).glob("*.npz"))
        if not self.files:
            raise FileNotFoundError(f"no scenes in {root}/{split}")

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with np.load(self.files[i]) as z:
            return {
                "image": torch.from_numpy(z["image"]).float(),
                "segmentation": torch.from_numpy(z["segmentation"]).long(),
                "depth": torch.from_numpy(z["depth"]).float(),
                "normals": torch.from_numpy(z["normals"]).float(),
            }
