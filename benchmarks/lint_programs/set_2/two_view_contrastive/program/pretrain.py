import argparse
import math
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision.models import resnet50

from losses import TwoViewNCE
from views import pretrain_set


class Encoder(nn.Module):
    def __init__(self, dim=128):
        super().__init__()
        self.backbone = resnet50()
        feat = self.backbone.fc.in_features
        self.backbone.fc = nn.Identity()
        self.proj = nn.Sequential(nn.Linear(feat, feat), nn.ReLU(inplace=True), nn.Linear(feat, dim))

    def forward(self, x):
        return self.proj(self.backbone(x))


def cosine_lr(step, total, warmup, base):
    if step < warmup:
        return base * (step + 1) / warmup
    t = (step - warmup) / max(1, total - warmup)
    return 0.5 * base * (1 + math.cos(math.pi * t))


def main(args):
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    torch.manual_seed(args.seed + rank)

    ds = pretrain_set(args.data, args.size)
    sampler = DistributedSampler(ds, seed=args.seed, drop_last=True)
    loader = DataLoader(ds, args.batch, sampler=sampler, num_workers=args.workers,
                        drop_last=True, pin_memory=True, persistent_workers=True)

    model = nn.SyncBatchNorm.convert_sync_batchnorm(Encoder()).cuda()
    model = nn.parallel.DistributedDataParallel(model, device_ids=[local])
    criterion = TwoViewNCE(args.tau)
    base_lr = args.lr * args.batch * world / 256
    opt = torch.optim.SGD(model.parameters(), lr=base_lr, momentum=0.9, weight_decay=1e-4)
    scaler = torch.cuda.amp.GradScaler()

    total = args.epochs * len(loader)
    step = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for (v1, v2), _ in loader:
            for g in opt.param_groups:
                g["lr"] = cosine_lr(step, total, 10 * len(loader), base_lr)
            x = torch.cat([v1, v2]).cuda(non_blocking=True)
            with torch.autocast("cuda", dtype=torch.float16):
                z = model(x)
            a, b = z.chunk(2)
            loss, top1 = criterion(a, b)
            opt.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
            if step % 20 == 0 and rank == 0:
                print(f"{epoch}:{step} loss {loss.item():.4f} top1 {top1.item():.3f}")
            step += 1
        if rank == 0:
            torch.save(model.module.backbone.state_dict(), f"{args.name}_backbone.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", required=True)
    ap.add_argument("--name", default="nce")
    ap.add_argument("--size", type=int, default=224)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--epochs", type=int, default=200)
    ap.add_argument("--workers", type=int, default=8)
    ap.add_argument("--lr", type=float, default=0.06)
    ap.add_argument("--tau", type=float, default=0.1)
    ap.add_argument("--seed", type=int, default=0)
    main(ap.parse_args())
