import ignite.distributed as idist
import torch.nn as nn
from torch.utils.data import DataLoader, Subset
from torchvision import datasets
from torchvision.transforms import Compose, Normalize, RandomCrop, ToTensor

NORM = Normalize((0.4377, 0.4438, 0.4728), (0.1980, 0.2010, 0.1970))


def get_datasets(path):
    with idist.one_rank_first(local=True):
        train = datasets.SVHN(path, "train", Compose([RandomCrop(32, padding=4), ToTensor(), NORM]), download=True)
        test = datasets.SVHN(path, "test", Compose([ToTensor(), NORM]), download=True)
    return train, test


def get_dataflow(args):
    train, test = get_datasets(args.data_path)
    train_loader = idist.auto_dataloader(
        train, batch_size=args.batch_size, num_workers=args.num_workers, shuffle=True, drop_last=True
    )
    mine = Subset(test, range(idist.get_rank(), len(test), idist.get_world_size()))
    val_loader = DataLoader(mine, batch_size=2 * args.batch_size // idist.get_world_size(), num_workers=2)
    return train_loader, val_loader


def block(cin, cout, stride):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride, 1, bias=False),
        nn.GroupNorm(8, cout),
        nn.ReLU(inplace=True),
    )


def make_net(num_classes=10):
    return nn.Sequential(
        block(3, 64, 1), block(64, 64, 1),
        block(64, 128, 2), block(128, 128, 1),
        block(128, 256, 2), block(256, 256, 1),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(256, num_classes),
    )
