import random

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import BatchSampler, DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class BoxDataset(Dataset):
    """One bright box per image; targets are the normalised box and its class.

    Indexed with ``(index, size)`` pairs, the image is resized to ``size``.
    """

    def __init__(self, num_images, num_classes=3):
        rng = np.random.default_rng(7)
        self.boxes = rng.uniform(0.2, 0.8, size=(num_images, 4)).astype(np.float32)
        self.boxes[:, 2:] *= 0.4
        self.labels = rng.integers(0, num_classes, size=num_images)
        self.num_classes = num_classes

    def __len__(self):
        return len(self.boxes)

    def __getitem__(self, item):
        index, size = item
        cx, cy, w, h = self.boxes[index]
        img = torch.randn(3, 64, 64) * 0.1
        x0, x1 = sorted((int(max(0, cx - w / 2) * 64), int(min(1, cx + w / 2) * 64)))
        y0, y1 = sorted((int(max(0, cy - h / 2) * 64), int(min(1, cy + h / 2) * 64)))
        img[int(self.labels[index]), y0:y1 + 1, x0:x1 + 1] += 1.0
        img = F.interpolate(img[None], size=(size, size), mode="bilinear", align_corners=False)[0]
        return img, torch.from_numpy(self.boxes[index]), int(self.labels[index])


class MultiScaleBatchSampler(BatchSampler):
    """Draws one input size per batch, so that every batch can be stacked."""

    def __init__(self, sampler, batch_size, drop_last, scales, seed):
        super().__init__(sampler, batch_size, drop_last)
        self.scales = scales
        self.rng = random.Random(seed)

    def __iter__(self):
        for batch in super().__iter__():
            size = self.rng.choice(self.scales)
            yield [(index, size) for index in batch]


def build_dataloader(cfg, seed, rank, world_size):
    dataset = BoxDataset(cfg["num_images"])
    sampler = DistributedSampler(dataset, world_size, rank, shuffle=True, seed=seed, drop_last=True)
    batch_sampler = MultiScaleBatchSampler(
        sampler, cfg["samples_per_gpu"], drop_last=True, scales=cfg["scales"], seed=seed
    )
    return DataLoader(
        dataset,
        batch_sampler=batch_sampler,
        num_workers=cfg["workers_per_gpu"],
        pin_memory=torch.cuda.is_available(),
    )
