import argparse
import os
from dataclasses import dataclass, fields

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from .trainer import Trainer


@dataclass
class Config:
    epochs: int = 60
    images: int = 4000
    batch_size: int = 32
    lr: float = 0.05
    schedule: str = "plateau"
    factor: float = 0.5
    patience: int = 2
    seed: int = 0
    out: str = "plankton.pt"


def parse():
    p = argparse.ArgumentParser()
    for f in fields(Config):
        p.add_argument("--" + f.name.replace("_", "-"), type=type(f.default), default=f.default)
    return Config(**vars(p.parse_args()))


def blobs(n, seed, classes=5):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    grid = torch.linspace(-1, 1, 20)
    r = (grid[:, None] ** 2 + grid[None] ** 2).sqrt()
    x = torch.cos(3.0 * (y[:, None, None] + 1) * r)[:, None] + 2.5 * torch.randn(n, 1, 20, 20, generator=g)
    return TensorDataset(x, y)


def main():
    cfg = parse()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(cfg.seed)
    net = nn.Sequential(
        nn.Conv2d(1, 12, 3, 2), nn.ReLU(), nn.Conv2d(12, 24, 3, 2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(96, 5),
    ).to(device)
    model = DistributedDataParallel(net, device_ids=[device.index] if cuda else None)
    train, val = blobs(cfg.images, 1), blobs(cfg.images // 4, 2)
    train_loader = DataLoader(train, cfg.batch_size, drop_last=True,
                              sampler=DistributedSampler(train, seed=cfg.seed, drop_last=True))
    val_loader = DataLoader(val, cfg.batch_size, sampler=DistributedSampler(val, shuffle=False))
    Trainer(cfg, model, train_loader, val_loader, device).fit()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
