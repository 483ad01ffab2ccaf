import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import Dataset


class MultiCropArray(Dataset):
    def __init__(self, path, n_local=6):
        self.array = np.load(path, mmap_mode="r")
        self.n_local = n_local

    def __len__(self):
        return len(self.array)

    def view(self, img, lo, hi, size):
        side = int(torch.randint(lo, hi + 1, ()))
        top, left = torch.randint(0, 64 - side + 1, (2,)).tolist()
        x = img[:, top:top + side, left:left + side]
        x = F.interpolate(x[None], (size, size), mode="bilinear", align_corners=False)[0]
        x = torch.rot90(x, int(torch.randint(4, ())), (1, 2))
        return x * (0.8 + 0.4 * torch.rand(x.shape[0], 1, 1))

    def __getitem__(self, i):
        img = torch.from_numpy(np.array(self.array[i])).float() / 255.0
        views = [self.view(img, 40, 64, 64) for _ in range(2)]
        return views + [self.view(img, 16, 36, 32) for _ in range(self.n_local)]
