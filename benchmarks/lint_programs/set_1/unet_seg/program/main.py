import argparse
import os
import random
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from PIL import Image
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset

from unet import UNet

IGNORE = 255


class FolderSegmentation(Dataset):
    """root/images/*.jpg with root/masks/<same stem>.png"""

    def __init__(self, root, size, augment):
        self.images = sorted(Path(root, "images").glob("*.jpg"))
        self.masks = Path(root, "masks")
        self.size = size
        self.augment = augment

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        path = self.images[i]
        img = Image.open(path).convert("RGB").resize((self.size, self.size), Image.BILINEAR)
        mask = Image.open(self.masks / f"{path.stem}.png").resize((self.size, self.size), Image.NEAREST)
        x = torch.from_numpy(np.array(img)).permute(2, 0, 1).float() / 255.0
        y = torch.from_numpy(np.array(mask)).long()
        if self.augment and random.random() < 0.5:
            x, y = x.flip(-1), y.flip(-1)
        return (x - 0.45) / 0.225, y


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        self.local_rank = int(os.environ["LOCAL_RANK"])
        self.device = torch.device(f"cuda:{self.local_rank}")

        train_set = FolderSegmentation(os.path.join(args.data, "train"), args.size, augment=True)
        val_set = FolderSegmentation(os.path.join(args.data, "val"), args.size, augment=False)
        val_set = Subset(val_set, list(range(self.rank, len(val_set), self.world)))
        self.sampler = DistributedSampler(train_set, drop_last=True)
        self.train_loader = DataLoader(train_set, args.batch, sampler=self.sampler, drop_last=True,
                                       num_workers=args.workers, pin_memory=True)
        self.val_loader = DataLoader(val_set, args.batch, num_workers=args.workers, pin_memory=True)

        net = nn.SyncBatchNorm.convert_sync_batchnorm(UNet(args.classes))
        self.model = DDP(net.to(self.device), device_ids=[self.local_rank])
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=args.lr, weight_decay=1e-2)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, args.epochs)
        self.criterion = nn.CrossEntropyLoss(ignore_index=IGNORE)
        self.best_miou = 0.0

    def say(self, *msg):
        if self.rank == 0:
            print(*msg, flush=True)

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        self.model.train()
        for it, (x, y) in enumerate(self.train_loader):
            x, y = x.to(self.device, non_blocking=True), y.to(self.device, non_blocking=True)
            loss = self.criterion(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            if it % 20 == 0:
                self.say(f"[{epoch}] {it}/{len(self.train_loader)} loss on rank 0: {loss.item():.4f}")
        self.sched.step()

    @torch.no_grad()
    def validate(self, epoch):
        k = self.args.classes
        net = self.model.module.eval()
        conf = torch.zeros(k, k, dtype=torch.int64, device=self.device)
        for x, y in self.val_loader:
            pred = net(x.to(self.device, non_blocking=True)).argmax(1)
            y = y.to(self.device)
            keep = y != IGNORE
            conf += torch.bincount(y[keep] * k + pred[keep], minlength=k * k).view(k, k)

        if self.rank == 0:
            dist.all_reduce(conf)
            inter = conf.diag().double()
            union = conf.sum(0) + conf.sum(1) - conf.diag()
            miou = (inter / union.clamp(min=1)).mean().item()
            self.say(f"[{epoch}] mIoU {miou:.4f} pixel acc {(inter.sum() / conf.sum()).item():.4f}")
            if miou > self.best_miou:
                self.best_miou = miou
                self.save("best.pth", epoch)

    def save(self, name, epoch):
        torch.save({"epoch": epoch, "net": self.model.module.state_dict(), "opt": self.opt.state_dict(),
                    "sched": self.sched.state_dict()}, os.path.join(self.args.out, name))

    def fit(self):
        for epoch in range(self.args.epochs):
            self.train_epoch(epoch)
            if (epoch + 1) % self.args.val_every == 0:
                self.validate(epoch)
            if self.rank == 0:
                self.save("last.pth", epoch)


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description="U-Net segmentation")
    ap.add_argument("data")
    ap.add_argument("--out", default="out")
    ap.add_argument("--classes", type=int, default=21)
    ap.add_argument("--size", type=int, default=256)
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--epochs", type=int, default=80)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--workers", type=int, default=6)
    ap.add_argument("--val-every", type=int, default=2)
    args = ap.parse_args()

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(backend="nccl")
    os.makedirs(args.out, exist_ok=True)
    Trainer(args).fit()
    dist.destroy_process_group()
