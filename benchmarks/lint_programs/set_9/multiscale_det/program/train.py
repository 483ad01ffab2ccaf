import argparse
import os
import random

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
import yaml
from torch.nn.parallel import DistributedDataParallel

from data import build_dataloader
from hooks import build_hook
from runner import EpochBasedRunner


class Detector(nn.Module):
    def __init__(self, num_classes=3, width=16):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1), nn.GroupNorm(4, width), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, 2, 1), nn.GroupNorm(4, 2 * width), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        )
        self.bbox_head = nn.Linear(2 * width * 16, 4)
        self.cls_head = nn.Linear(2 * width * 16, num_classes)

    def forward(self, imgs, boxes, labels):
        feat = self.backbone(imgs)
        loss_bbox = F.l1_loss(self.bbox_head(feat).sigmoid(), boxes)
        loss_cls = F.cross_entropy(self.cls_head(feat), labels)
        return {"loss": loss_cls + 5.0 * loss_bbox, "loss_cls": loss_cls, "loss_bbox": loss_bbox}


def set_random_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    parser.add_argument("--work-dir")
    args = parser.parse_args()
    with open(args.config) as f:
        cfg = yaml.safe_load(f)

    use_cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if use_cuda else torch.device("cpu")
    if use_cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if use_cuda else "gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    set_random_seed(cfg["seed"] + rank)

    model = DistributedDataParallel(
        Detector().to(device), device_ids=[local_rank] if use_cuda else None
    )
    optimizer = torch.optim.SGD(model.parameters(), **cfg["optimizer"])
    for group in optimizer.param_groups:
        group["initial_lr"] = group["lr"]
    loader = build_dataloader(cfg["data"], cfg["seed"], rank, world_size)

    runner = EpochBasedRunner(
        model, optimizer, loader, device, args.work_dir or cfg["work_dir"], cfg["total_epochs"]
    )
    for hook_cfg in cfg["hooks"]:
        runner.register_hook(build_hook(hook_cfg))
    runner.run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
