import argparse
import math

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torchvision.models import convnext_tiny

import checkpoint
import distutil
from data import train_loader, val_loader


def lr_at(epoch, args):
    if epoch < args.warmup:
        return args.lr * (epoch + 1) / args.warmup
    t = (epoch - args.warmup) / (args.epochs - args.warmup)
    return args.lr * 0.5 * (1 + math.cos(math.pi * t))


@torch.no_grad()
def validate(net, loader, device):
    net.eval()
    c = torch.zeros(2, device=device)
    for x, y in loader:
        pred = net(x.to(device, non_blocking=True)).argmax(1)
        c[0] += (pred == y.to(device)).sum()
        c[1] += len(y)
    dist.all_reduce(c)
    return (c[0] / c[1]).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("data")
    p.add_argument("--ckpt", default="convnext.pth")
    p.add_argument("--resume", action="store_true")
    p.add_argument("--epochs", type=int, default=300)
    p.add_argument("--warmup", type=int, default=20)
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--workers", type=int, default=10)
    args = p.parse_args()

    device = distutil.init()
    loader, sampler = train_loader(args.data, args.batch, args.workers)
    vloader = val_loader(args.data, args.batch, args.workers, dist.get_rank(), dist.get_world_size())

    net = convnext_tiny(num_classes=1000, stochastic_depth_prob=0.1).to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=0.05)
    start, best = 0, 0.0
    if args.resume:
        start, best = checkpoint.restore(args.ckpt, net, optimizer, device)
        distutil.log(f"resumed at epoch {start}, best {best:.4f}")
    model = DDP(net, device_ids=[device.index])

    for epoch in range(start, args.epochs):
        sampler.set_epoch(epoch)
        for g in optimizer.param_groups:
            g["lr"] = lr_at(epoch, args)
        model.train()
        for i, (x, y) in enumerate(loader):
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            if i % 100 == 0:
                distutil.log(f"{epoch} {i}/{len(loader)} {loss.item():.3f}")
        acc = validate(net, vloader, device)
        best = max(best, acc)
        distutil.log(f"epoch {epoch} acc {acc:.4f} best {best:.4f}")
        checkpoint.save(args.ckpt, model, optimizer, epoch, best)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
