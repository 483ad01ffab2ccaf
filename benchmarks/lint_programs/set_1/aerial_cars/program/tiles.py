from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

STRIDE = 4


def splat(heat, cx, cy, radius):
    h, w = heat.shape
    ys, xs = np.ogrid[:h, :w]
    blob = np.exp(-((xs - cx) ** 2 + (ys - cy) ** 2) / (2 * max(radius / 3, 0.6) ** 2))
    np.maximum(heat, blob, out=heat)


class Tiles(Dataset):
    def __init__(self, folder, augment):
        self.files = sorted(Path(folder).glob("*.npz"))
        self.augment = augment

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with np.load(self.files[i]) as z:
            image, boxes = z["image"], z["boxes"].astype(np.float32).reshape(-1, 4)
        if self.augment and torch.rand(()) < 0.5:
            image = image[:, ::-1]
            boxes[:, [0, 2]] = image.shape[1] - boxes[:, [2, 0]]

        side = image.shape[0] // STRIDE
        heat = np.zeros((side, side), np.float32)
        size = np.zeros((2, side, side), np.float32)
        mask = np.zeros((side, side), bool)
        for x0, y0, x1, y1 in boxes / STRIDE:
            cx, cy = int((x0 + x1) / 2), int((y0 + y1) / 2)
            if not (0 <= cx < side and 0 <= cy < side):
                continue
            splat(heat, cx, cy, 0.4 * min(x1 - x0, y1 - y0))
            size[:, cy, cx] = x1 - x0, y1 - y0
            mask[cy, cx] = True
        return {
            "image": torch.from_numpy(np.ascontiguousarray(image)).permute(2, 0, 1).float() / 255,
            "heat": torch.from_numpy(heat),
            "size": torch.from_numpy(size),
            "mask": torch.from_numpy(mask),
        }
