import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

import comm
from engine import Trainer, default_hooks, setup_logger


class SingleObjectDetector(nn.Module):
    def __init__(self, num_classes=4, dim=16):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, dim, 3, 2, 1), nn.ReLU(), nn.Conv2d(dim, dim, 3, 2, 1), nn.ReLU(), nn.Flatten()
        )
        self.box = nn.Linear(dim * 64, 4)
        self.cls = nn.Linear(dim * 64, num_classes)

    def forward(self, images, boxes, labels):
        feats = self.backbone(images)
        return {
            "loss_box": F.smooth_l1_loss(self.box(feats), boxes),
            "loss_cls": F.cross_entropy(self.cls(feats), labels),
        }


def infinite_batches(batch_size, seed, num_classes=4):
    g = torch.Generator().manual_seed(seed + comm.get_rank())
    while True:
        labels = torch.randint(0, num_classes, (batch_size,), generator=g)
        xy = torch.randint(0, 20, (batch_size, 2), generator=g)
        images = 0.1 * torch.randn(batch_size, 1, 32, 32, generator=g)
        for i, (x, y) in enumerate(xy.tolist()):
            images[i, 0, y : y + 12, x : x + 12] += 1.0 + labels[i]
        yield images, torch.cat([xy, xy + 12], 1).float() / 32, labels


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--max-iter", type=int, default=60)
    p.add_argument("--base-lr", type=float, default=0.05)
    p.add_argument("--log-period", type=int, default=20)
    p.add_argument("--checkpoint-period", type=int, default=30)
    p.add_argument("--output-dir", default="output")
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()

    device = comm.init()
    setup_logger()
    torch.manual_seed(args.seed)

    raw_model = SingleObjectDetector().to(device)
    model = DistributedDataParallel(raw_model, device_ids=[device.index] if device.type == "cuda" else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.base_lr, momentum=0.9)
    data_iter = infinite_batches(args.batch_size, args.seed)
    trainer = Trainer(model, raw_model, optimizer, data_iter, device, args.max_iter)
    trainer.register_hooks(default_hooks(args, optimizer))
    trainer.train()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
