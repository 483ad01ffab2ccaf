import json
from pathlib import Path

import torch
from torch.utils.data import Dataset
from torchvision.io import ImageReadMode, read_image


class TrafficSigns(Dataset):
    """One json file with [{"file": ..., "boxes": [[x0,y0,x1,y1],..], "labels": [..]}, ..]."""

    def __init__(self, root, split):
        self.root = Path(root)
        with open(self.root / f"{split}.json") as f:
            self.items = json.load(f)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        it = self.items[i]
        img = read_image(str(self.root / "images" / it["file"]), ImageReadMode.RGB).float() / 255
        boxes = torch.tensor(it["boxes"], dtype=torch.float32).reshape(-1, 4)
        labels = torch.tensor(it["labels"], dtype=torch.int64)
        return img, {"boxes": boxes, "labels": labels}


def collate(batch):
    return tuple(zip(*batch))
