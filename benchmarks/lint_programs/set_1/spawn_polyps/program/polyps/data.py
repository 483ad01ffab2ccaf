import os

import torch
from torch.utils.data import DataLoader, Dataset, Subset
from torch.utils.data.distributed import DistributedSampler


class Polyps(Dataset):
    def __init__(self, root, part, augment=False):
        blob = torch.load(os.path.join(root, part + ".pt"))
        self.image, self.mask = blob["image"], blob["mask"]
        self.augment = augment

    def __len__(self):
        return len(self.image)

    def __getitem__(self, i):
        x, y = self.image[i].float() / 255, self.mask[i].float()
        if self.augment:
            if torch.rand(()) < 0.5:
                x, y = x.flip(-1), y.flip(-1)
            if torch.rand(()) < 0.5:
                x, y = x.flip(-2), y.flip(-2)
            x = (x * (0.8 + 0.4 * torch.rand(3, 1, 1))).clamp(0, 1)
        return x, y


def train_loader(args, rank):
    data = Polyps(args.data, "train", augment=True)
    sampler = DistributedSampler(data, num_replicas=args.world_size, rank=rank)
    return DataLoader(data, args.batch_size, sampler=sampler, drop_last=True)


def eval_loader(args, rank, part):
    data = Polyps(args.data, part)
    share = list(range(rank, len(data), args.world_size))
    return DataLoader(Subset(data, share), args.batch_size)
