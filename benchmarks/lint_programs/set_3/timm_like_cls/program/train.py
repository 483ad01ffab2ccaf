#!/usr/bin/env python3
"""Image classification training script (timm flavoured)."""
import argparse
import contextlib
import logging
import os
from collections import OrderedDict

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as NativeDDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

_logger = logging.getLogger("train")

parser = argparse.ArgumentParser(description="training")
parser.add_argument("--model", default="convmix")
parser.add_argument("--num-classes", type=int, default=10)
parser.add_argument("--num-train", type=int, default=5000)
parser.add_argument("--img-size", type=int, default=32)
parser.add_argument("-b", "--batch-size", type=int, default=32)
parser.add_argument("--grad-accum-steps", type=int, default=1)
parser.add_argument("--epochs", type=int, default=90)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--momentum", type=float, default=0.9)
parser.add_argument("--weight-decay", type=float, default=2e-5)
parser.add_argument("--seed", type=int, default=42)
parser.add_argument("--output", default="")


class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0.0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def convmix(num_classes, dim=32, depth=2):
    layers = [nn.Conv2d(3, dim, 4, 4), nn.GELU(), nn.GroupNorm(4, dim)]
    for _ in range(depth):
        layers += [nn.Conv2d(dim, dim, 5, padding=2, groups=dim), nn.GELU(), nn.GroupNorm(4, dim),
                   nn.Conv2d(dim, dim, 1), nn.GELU(), nn.GroupNorm(4, dim)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(dim, num_classes))


_models = {"convmix": convmix}


def make_data(n, args, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, args.num_classes, (n,), generator=g)
    x = torch.randn(n, 3, args.img_size, args.img_size, generator=g) + y.view(-1, 1, 1, 1) / args.num_classes
    return TensorDataset(x, y)


def train_one_epoch(epoch, model, loader, optimizer, loss_fn, args, device):
    model.train()
    losses_m = AverageMeter()
    accum_steps = args.grad_accum_steps
    last_accum_steps = len(loader) % accum_steps or accum_steps
    last_batch_idx = len(loader) - 1
    last_batch_idx_to_accum = len(loader) - last_accum_steps

    optimizer.zero_grad()
    for batch_idx, (input, target) in enumerate(loader):
        last_batch = batch_idx == last_batch_idx
        need_sync = (batch_idx + 1) % accum_steps == 0
        group_steps = last_accum_steps if batch_idx >= last_batch_idx_to_accum else accum_steps
        input, target = input.to(device), target.to(device)
        with model.no_sync() if not need_sync else contextlib.nullcontext():
            loss = loss_fn(model(input), target)
            (loss / group_steps).backward()
        losses_m.update(loss.item(), input.size(0))

        if not (need_sync or last_batch):
            continue
        optimizer.step()
        optimizer.zero_grad()
    stats = torch.tensor([losses_m.sum, losses_m.count], device=device)
    dist.all_reduce(stats)
    return OrderedDict(loss=(stats[0] / stats[1]).item())


@torch.no_grad()
def validate(model, data, args, device):
    model.eval()
    stats = torch.zeros(2, device=device)
    for i in range(dist.get_rank(), len(data), dist.get_world_size()):
        x, y = data[i]
        pred = model.module(x[None].to(device)).argmax(-1).item()
        stats += torch.tensor([float(pred == y.item()), 1.0], device=device)
    dist.all_reduce(stats)
    return OrderedDict(top1=(100 * stats[0] / stats[1]).item())


def main():
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()

    torch.manual_seed(args.seed + rank)
    model = NativeDDP(_models[args.model](args.num_classes).to(device), device_ids=[local_rank] if cuda else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum,
                                weight_decay=args.weight_decay, nesterov=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)

    train_set, val_set = make_data(args.num_train, args, args.seed), make_data(200, args, args.seed + 1)
    sampler = DistributedSampler(train_set, seed=args.seed)
    loader = DataLoader(train_set, args.batch_size, sampler=sampler, drop_last=True)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        train_metrics = train_one_epoch(epoch, model, loader, optimizer, loss_fn, args, device)
        eval_metrics = validate(model, val_set, args, device)
        scheduler.step()
        if rank == 0:
            _logger.info("epoch %d %s %s", epoch, dict(train_metrics), dict(eval_metrics))
            if args.output:
                torch.save({"state_dict": model.module.state_dict(), "epoch": epoch}, args.output)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
