"""Patch-level classification of histology slides (ResNet-ish stem, DDP)."""
import argparse
import logging
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from evaluation import evaluate

log = logging.getLogger("histo")


class Block(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class PatchNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(Block(3, 8), Block(8, 16, 2), Block(16, 16, 2))
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        return self.fc(self.body(x).mean((2, 3)))


def make_split(n, classes, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(classes, (n,), generator=g)
    x = torch.randn(n, 3, 24, 24, generator=g) + y.view(-1, 1, 1, 1) * 0.3
    return TensorDataset(x, y)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--eval-every", type=int, default=25, help="steps between validations")
    p.add_argument("--classes", type=int, default=4)
    return p.parse_args()


def main():
    args = parse()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING,
                        format="%(asctime)s %(message)s")
    torch.manual_seed(7)

    train_set = make_split(960, args.classes, 1)
    val_loader = DataLoader(make_split(160, args.classes, 2), batch_size=16)
    sampler = DistributedSampler(train_set, world, rank, shuffle=True)
    loader = DataLoader(train_set, args.batch_size, sampler=sampler, drop_last=True)

    model = DDP(PatchNet(args.classes))
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs * len(loader))

    step, best = 0, 0.0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            opt.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
            loss.backward()
            opt.step()
            sched.step()
            step += 1
            if step % 10 == 0:
                log.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
            if step % args.eval_every == 0:
                if rank == 0:
                    acc = evaluate(model, val_loader)
                    best = max(best, acc)
                    log.info("step %d val acc %.3f best %.3f", step, acc, best)
                dist.barrier()  # everybody continues from the same step
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
