import os

from torch.utils.data import DataLoader, DistributedSampler, Subset
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

NORM = T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])


def train_loader(root, batch, workers):
    tf = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), NORM])
    ds = ImageFolder(os.path.join(root, "train"), tf)
    sampler = DistributedSampler(ds)
    return DataLoader(ds, batch, sampler=sampler, num_workers=workers, pin_memory=True, drop_last=True), sampler


def val_loader(root, batch, workers, rank, world):
    tf = T.Compose([T.Resize(256), T.CenterCrop(224), T.ToTensor(), NORM])
    ds = ImageFolder(os.path.join(root, "val"), tf)
    return DataLoader(Subset(ds, range(rank, len(ds), world)), batch, num_workers=workers, pin_memory=True)
