from pathlib import Path

import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms

EXTENSIONS = {".jpg", ".jpeg", ".png", ".webp"}


class FlatImageFolder(Dataset):
    def __init__(self, root, resolution):
        self.paths = sorted(p for p in Path(root).rglob("*") if p.suffix.lower() in EXTENSIONS)
        if not self.paths:
            raise FileNotFoundError(f"no images below {root}")
        self.transform = transforms.Compose(
            [
                transforms.Resize(resolution, interpolation=transforms.InterpolationMode.BILINEAR),
                transforms.CenterCrop(resolution),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize([0.5], [0.5]),
            ]
        )

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with Image.open(self.paths[index]) as image:
            return self.transform(image.convert("RGB"))


def collate(examples):
    return {"input": torch.stack(examples).contiguous().float()}
