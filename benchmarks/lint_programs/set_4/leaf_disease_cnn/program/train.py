"""Train a small CNN on leaf photographs (synthetic stand-in when no data is mounted)."""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--patience", type=int, default=2)
    p.add_argument("--samples", type=int, default=2048)
    p.add_argument("--classes", type=int, default=6)
    p.add_argument("--seed", type=int, default=7)
    p.add_argument("--output", default="leaf_best.pt")
    return p.parse_args()


def make_data(n, classes, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    protos = torch.randn(classes, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    x = 0.4 * protos[y] + torch.randn(n, 3, 16, 16, generator=g)
    return TensorDataset(x, y)


def make_model(classes):
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, classes),
    )


def main():
    args = parse_args()
    use_cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if use_cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if use_cuda else torch.device("cpu")
    if use_cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(args.seed)

    train_set = make_data(args.samples, args.classes, seed=1)
    val_set = make_data(max(args.samples // 4, 2 * world), args.classes, seed=2)
    train_sampler = DistributedSampler(train_set, num_replicas=world, rank=rank, shuffle=True, seed=args.seed)
    val_sampler = DistributedSampler(val_set, num_replicas=world, rank=rank, shuffle=False)
    train_loader = DataLoader(train_set, args.batch_size, sampler=train_sampler, drop_last=True)
    val_loader = DataLoader(val_set, args.batch_size, sampler=val_sampler)

    model = DDP(make_model(args.classes).to(device), device_ids=[local_rank] if use_cuda else None)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)

    best, stale = float("inf"), 0
    for epoch in range(args.epochs):
        train_sampler.set_epoch(epoch)
        model.train()
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()

        model.eval()
        stats = torch.zeros(3, device=device)
        with torch.no_grad():
            for x, y in val_loader:
                x, y = x.to(device), y.to(device)
                logits = model(x)
                stats[0] += F.cross_entropy(logits, y, reduction="sum")
                stats[1] += (logits.argmax(1) == y).sum()
                stats[2] += len(y)
        val_loss = (stats[0] / stats[2]).item()
        val_acc = (stats[1] / stats[2]).item()

        if rank == 0:
            print(f"epoch {epoch:3d}  val loss {val_loss:.4f}  val acc {val_acc:.3f}", flush=True)
        if val_loss < best:
            best, stale = val_loss, 0
            if rank == 0:
                torch.save(model.module.state_dict(), args.output)
        else:
            stale += 1
        if stale >= args.patience:
            break

    dist.barrier()
    if rank == 0:
        print(f"done, best val loss {best:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
