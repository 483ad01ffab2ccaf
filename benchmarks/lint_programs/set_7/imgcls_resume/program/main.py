import argparse
import math

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

from checkpoint import resume_checkpoint, save_checkpoint
from dist_utils import is_primary, setup, sum_tensor
from registry import create_model


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="tiny_resnet")
    p.add_argument("--num-classes", type=int, default=10)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--momentum", type=float, default=0.9)
    p.add_argument("--weight-decay", type=float, default=1e-4)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--output", default="out/base")
    p.add_argument("--resume", default="")
    return p.parse_args()


def synthetic(n, num_classes, seed):
    means = torch.randn(num_classes, 3, 16, 16, generator=torch.Generator().manual_seed(99))
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, num_classes, (n,), generator=g)
    return TensorDataset(means[y] + torch.randn(n, 3, 16, 16, generator=g), y)


def set_lr(optimizer, base_lr, epoch, epochs):
    for group in optimizer.param_groups:
        group["lr"] = 0.5 * base_lr * (1 + math.cos(math.pi * epoch / epochs))


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    counts = torch.zeros(2, dtype=torch.long, device=device)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        counts[0] += (model(x).argmax(1) == y).sum()
        counts[1] += y.numel()
    model.train()
    hits, total = sum_tensor(counts).tolist()
    return hits / total


def main():
    args = parse_args()
    device, rank, world_size = setup()
    torch.manual_seed(args.seed + rank)

    train_set = synthetic(1000, args.num_classes, 1)
    val_set = synthetic(250, args.num_classes, 2)
    sampler = DistributedSampler(train_set, shuffle=True, seed=args.seed)
    train_loader = DataLoader(train_set, args.batch_size, sampler=sampler, drop_last=True)
    val_loader = DataLoader(Subset(val_set, range(rank, len(val_set), world_size)), args.batch_size)

    model = create_model(args.model, num_classes=args.num_classes).to(device)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay, nesterov=True
    )
    start, best = 0, 0.0
    if args.resume:
        meta = resume_checkpoint(args.resume, model, optimizer, device)
        start, best = meta["epoch"], meta["best"]
    ddp = DDP(model, device_ids=[device.index] if device.type == "cuda" else None)

    for epoch in range(start, args.epochs):
        sampler.set_epoch(epoch)
        set_lr(optimizer, args.lr, epoch, args.epochs)
        for x, y in train_loader:
            loss = F.cross_entropy(ddp(x.to(device)), y.to(device))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        acc = validate(model, val_loader, device)
        save_checkpoint(args.output, model, optimizer, epoch, max(best, acc), acc > best)
        best = max(best, acc)
        if is_primary():
            print(f"epoch {epoch} acc {acc:.4f} best {best:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
