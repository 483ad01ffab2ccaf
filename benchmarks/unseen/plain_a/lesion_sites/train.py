import os
import time
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from callbacks import PlateauStopper
from volumes import SiteSlices


@dataclass
class Config:
    epochs: int = 12
    batch: int = 6
    lr: float = 2e-3
    patience: int = 3
    seed: int = 2024


class TinyUNet(nn.Module):
    """Two-level U-Net with group norm."""

    def __init__(self, width=8):
        super().__init__()
        def stage(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU())
        self.down1, self.down2 = stage(1, width), stage(width, 2 * width)
        self.pool = nn.AvgPool2d(2)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.merge = stage(3 * width, width)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.up(self.down2(self.pool(a)))
        return self.out(self.merge(torch.cat([a, b], 1)))


def soft_dice(logits, mask):
    p = logits.sigmoid()
    inter = (p * mask).sum((1, 2, 3))
    return 1 - (2 * inter + 1) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)


@torch.no_grad()
def validate(net, loader):
    """Mean dice over the cases that show a lesion."""
    net.eval()
    dices = []
    for image, mask in loader:
        pred = (net(image) > 0).float()
        for p, m in zip(pred, mask):
            if m.any():
                dices.append((2 * (p * m).sum() / (p.sum() + m.sum())).item())
    net.train()
    return float(np.mean(dices))


def run(cfg: Config):
    dist.init_process_group(backend="gloo")
    rank = dist.get_rank()
    torch.manual_seed(cfg.seed)
    site = ("north", "harbour", "hill", "lake")[rank]
    train = DataLoader(SiteSlices(site, "train", 48), cfg.batch, shuffle=True, drop_last=True)
    val = DataLoader(SiteSlices(site, "val", 12), cfg.batch)

    ddp = DistributedDataParallel(TinyUNet())
    optim = torch.optim.AdamW(ddp.parameters(), lr=cfg.lr)
    bce = nn.BCEWithLogitsLoss()
    stopper = PlateauStopper(patience=cfg.patience, mode="max")

    for epoch in range(cfg.epochs):
        tic = time.perf_counter()
        for image, mask in train:
            logits = ddp(image)
            loss = bce(logits, mask) + soft_dice(logits, mask).mean()
            optim.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(ddp.parameters(), 1.0)
            optim.step()
        dice = validate(ddp.module, val)
        print(f"[{site}] epoch {epoch} loss {loss.item():.3f} dice {dice:.3f} "
              f"({time.perf_counter() - tic:.1f}s)", flush=True)
        if stopper.should_stop(dice):
            print(f"[{site}] no progress for {cfg.patience} epochs", flush=True)
            break

    dist.barrier()
    if rank == 0:
        torch.save(ddp.module.state_dict(), os.path.join(os.environ.get("TMPDIR", "/tmp"), "unet_last.pt"))
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    run(Config())
