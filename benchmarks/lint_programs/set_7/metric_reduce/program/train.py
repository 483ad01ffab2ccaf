"""torchrun --standalone --nproc_per_node=4 train.py --metrics all"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from data import Rectangles
from meters import MeterBank
from objectives import detection_losses, select


class TinyDetector(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, width, 3, 2, 1), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, 2, 1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        )
        self.cls = nn.Linear(32 * width, classes)
        self.box = nn.Linear(32 * width, 4)
        self.obj = nn.Linear(32 * width, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.cls(h), self.box(h).sigmoid(), self.obj(h).squeeze(1)


def to(device, image, target):
    return image.to(device), {k: v.to(device) for k, v in target.items()}


@torch.no_grad()
def validate(net, loader, meters, device):
    net.eval()
    meters.reset()
    for batch in loader:
        image, target = to(device, *batch)
        meters.update(len(image), **detection_losses(net(image), target))
    return meters.averages()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--metrics", default="all")
    p.add_argument("--train-size", type=int, default=8192)
    p.add_argument("--val-size", type=int, default=1024)
    p.add_argument("--size", type=int, default=32)
    p.add_argument("--classes", type=int, default=5)
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--patience", type=int, default=2)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--seed", type=int, default=3)
    p.add_argument("--best", default="detector.pt")
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(args.seed)

    train_set = Rectangles(args.train_size, args.size, args.classes, seed=1)
    val_set = Rectangles(args.val_size // world * world, args.size, args.classes, seed=2)
    sampler = DistributedSampler(train_set, seed=args.seed)
    train = DataLoader(train_set, args.batch_size, sampler=sampler, drop_last=True)
    val = DataLoader(val_set, args.batch_size, sampler=DistributedSampler(val_set, shuffle=False))

    net = TinyDetector(args.width, args.classes).to(device)
    model = DistributedDataParallel(net, device_ids=[device.index] if cuda else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=args.patience)
    meters = MeterBank(select(args.metrics), device)
    best = float("inf")

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for batch in train:
            image, target = to(device, *batch)
            losses = detection_losses(model(image), target)
            optimizer.zero_grad()
            losses["loss"].backward()
            optimizer.step()
        scores = validate(net, val, meters, device)
        plateau.step(scores["loss"])
        if rank == 0:
            line = "  ".join(f"{k} {scores[k]:.4f}" for k in sorted(scores))
            print(f"epoch {epoch}  {line}  lr {optimizer.param_groups[0]['lr']:g}", flush=True)
            if scores["loss"] < best:
                best = scores["loss"]
                torch.save(net.state_dict(), args.best)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
