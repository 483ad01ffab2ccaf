"""ResNet-18 on CIFAR-10 with DistributedDataParallel.

    bash train.sh
"""
import argparse
import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, models, transforms

log = logging.getLogger("cifar")

MEAN = (0.4914, 0.4822, 0.4465)
STD = (0.2470, 0.2435, 0.2616)


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="./data", help="folder with the unpacked CIFAR-10 archive")
    p.add_argument("--out", default="runs/resnet18")
    p.add_argument("--epochs", type=int, default=60)
    p.add_argument("--batch-size", type=int, default=128, help="per GPU")
    p.add_argument("--lr", type=float, default=0.2)
    p.add_argument("--weight-decay", type=float, default=5e-4)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--resume", default="", help="checkpoint to continue from")
    p.add_argument("--log-every", type=int, default=50)
    return p.parse_args()


def build_loaders(args, rank, world_size):
    train_tf = transforms.Compose([
        transforms.RandomCrop(32, padding=4),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ])
    test_tf = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])

    train_set = datasets.CIFAR10(args.data, train=True, transform=train_tf)
    test_set = datasets.CIFAR10(args.data, train=False, transform=test_tf)

    sampler = DistributedSampler(train_set, num_replicas=world_size, rank=rank, shuffle=True)
    train_loader = DataLoader(
        train_set,
        batch_size=args.batch_size,
        sampler=sampler,
        num_workers=args.workers,
        pin_memory=True,
        drop_last=True,
    )
    # every rank scores its own slice, without the padding of DistributedSampler
    shard = Subset(test_set, range(rank, len(test_set), world_size))
    test_loader = DataLoader(shard, batch_size=256, num_workers=args.workers, pin_memory=True)
    return train_loader, sampler, test_loader


def build_model():
    net = models.resnet18(num_classes=10)
    # 32x32 inputs: no stride in the stem
    net.conv1 = nn.Conv2d(3, 64, 3, stride=1, padding=1, bias=False)
    net.maxpool = nn.Identity()
    return net


def train_one_epoch(model, loader, optimizer, scheduler, device, epoch, args):
    model.train()
    t0 = time.time()
    for step, (x, y) in enumerate(loader):
        x = x.to(device, non_blocking=True)
        y = y.to(device, non_blocking=True)
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % args.log_every == 0:
            log.info("epoch %d step %d/%d loss(rank0) %.4f lr %.4f %.1fs", epoch, step, len(loader),
                     loss.item(), scheduler.get_last_lr()[0], time.time() - t0)


@torch.no_grad()
def evaluate(net, loader, device):
    net.eval()
    totals = torch.zeros(2, device=device)
    for x, y in loader:
        pred = net(x.to(device, non_blocking=True)).argmax(1)
        totals[0] += (pred == y.to(device)).sum()
        totals[1] += y.numel()
    dist.all_reduce(totals)
    return (totals[0] / totals[1]).item()


def main():
    args = parse_args()
    dist.init_process_group("nccl")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING,
                        format="%(asctime)s %(message)s")
    os.makedirs(args.out, exist_ok=True)

    train_loader, sampler, test_loader = build_loaders(args, rank, world_size)
    net = build_model().to(device)
    model = DistributedDataParallel(net, device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True,
                                weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.lr, total_steps=args.epochs * len(train_loader))

    start_epoch, best = 0, 0.0
    if args.resume:
        ckpt = torch.load(args.resume, map_location=device)
        net.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        scheduler.load_state_dict(ckpt["scheduler"])
        start_epoch, best = ckpt["epoch"] + 1, ckpt["best"]
        log.info("resumed %s at epoch %d", args.resume, start_epoch)

    for epoch in range(start_epoch, args.epochs):
        train_one_epoch(model, train_loader, optimizer, scheduler, device, epoch, args)
        acc = evaluate(net, test_loader, device)
        is_best = acc > best
        best = max(acc, best)
        log.info("epoch %d: test acc %.4f (best %.4f)", epoch, acc, best)
        if rank == 0:
            state = {
                "model": net.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(),
                "epoch": epoch,
                "best": best,
            }
            torch.save(state, os.path.join(args.out, "last.pt"))
            if is_best:
                torch.save(state, os.path.join(args.out, "best.pt"))

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
