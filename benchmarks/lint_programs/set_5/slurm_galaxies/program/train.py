import argparse
import os
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, Subset
from torch.utils.data.distributed import DistributedSampler


class Galaxies(Dataset):
    def __init__(self, root, augment):
        self.images = np.load(Path(root) / "images.npy", mmap_mode="r")
        self.labels = np.load(Path(root) / "labels.npy")
        self.augment = augment

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        x = torch.from_numpy(np.array(self.images[i])).float() / 255
        if self.augment:
            x = torch.rot90(x, int(torch.randint(4, ()).item()), (1, 2))
            if torch.rand(()) < 0.5:
                x = x.flip(2)
        return x, int(self.labels[i])


def conv(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.GroupNorm(8, cout), nn.SiLU(),
                         nn.MaxPool2d(2))


def build_net(classes=7):
    return nn.Sequential(conv(3, 32), conv(32, 64), conv(64, 128), conv(128, 128), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Dropout(0.3), nn.Linear(128, classes))


@torch.no_grad()
def validate(net, loader, device):
    net.eval()
    hits = torch.zeros(2, device=device)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        hits[0] += (net(x).argmax(1) == y).sum()
        hits[1] += len(y)
    dist.all_reduce(hits)
    return (hits[0] / hits[1]).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True)
    ap.add_argument("--out", default="runs/dev")
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--batch-size", type=int, default=256)
    ap.add_argument("--lr", type=float, default=1e-3)
    args = ap.parse_args()

    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    torch.manual_seed(17 + rank)

    n = len(Galaxies(args.data, False))
    order = np.random.default_rng(0).permutation(n)
    val_ids, train_ids = order[: n // 10], order[n // 10:]
    train_set = Subset(Galaxies(args.data, True), train_ids.tolist())
    val_set = Subset(Galaxies(args.data, False), val_ids[rank::world].tolist())
    sampler = DistributedSampler(train_set, shuffle=True, drop_last=True)
    train_loader = DataLoader(train_set, args.batch_size, sampler=sampler, num_workers=6, drop_last=True,
                              pin_memory=cuda, persistent_workers=True)
    val_loader = DataLoader(val_set, args.batch_size, num_workers=2, pin_memory=cuda)

    net = DDP(build_net().to(device), device_ids=[local_rank] if cuda else None)
    opt = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=0.05)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.epochs * len(train_loader))

    best = 0.0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        net.train()
        for x, y in train_loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = F.cross_entropy(net(x), y, label_smoothing=0.1)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
        acc = validate(net.module, val_loader, device)
        if rank == 0:
            print(f"epoch {epoch} loss {loss.item():.3f} val acc {acc:.4f}", flush=True)
            if acc > best:
                best = acc
                os.makedirs(args.out, exist_ok=True)
                torch.save(net.module.state_dict(), os.path.join(args.out, "best.pt"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
