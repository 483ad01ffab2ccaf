import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torchvision
import torchvision.transforms as T
from torch.utils.data import DataLoader, DistributedSampler

from averaging import ParameterAverager

parser = argparse.ArgumentParser(description="local SGD on CIFAR-100")
parser.add_argument("--data", type=str, required=True)
parser.add_argument("--epochs", type=int, default=120)
parser.add_argument("--warmup-epochs", type=int, default=5, help="epochs with averaging after each step")
parser.add_argument("--sync-every", type=int, default=8, help="local steps between averagings (H)")
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--lr", type=float, default=0.2)
parser.add_argument("--wd", type=float, default=5e-4)
parser.add_argument("--seed", type=int, default=0)


def init_slurm():
    rank = int(os.environ["SLURM_PROCID"])
    world = int(os.environ["SLURM_NTASKS"])
    local = int(os.environ["SLURM_LOCALID"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", init_method="env://", rank=rank, world_size=world)
    return rank, world


def build_model():
    net = torchvision.models.resnet18(num_classes=100)
    net.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
    net.maxpool = nn.Identity()
    return net


def build_loaders(args):
    norm = T.Normalize((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762))
    train_tf = T.Compose([T.RandomCrop(32, padding=4), T.RandomHorizontalFlip(), T.ToTensor(), norm])
    test_tf = T.Compose([T.ToTensor(), norm])
    train = torchvision.datasets.CIFAR100(args.data, train=True, transform=train_tf)
    test = torchvision.datasets.CIFAR100(args.data, train=False, transform=test_tf)
    train_loader = DataLoader(
        train, args.batch_size, sampler=DistributedSampler(train, seed=args.seed),
        num_workers=6, pin_memory=True, drop_last=True, persistent_workers=True,
    )
    shard = torch.utils.data.Subset(test, range(dist.get_rank(), len(test), dist.get_world_size()))
    test_loader = DataLoader(shard, 256, num_workers=2, pin_memory=True)
    return train_loader, test_loader


@torch.no_grad()
def accuracy(net, loader):
    net.eval()
    stats = torch.zeros(2, device="cuda", dtype=torch.float64)
    for x, y in loader:
        pred = net(x.cuda(non_blocking=True)).argmax(1)
        stats[0] += (pred == y.cuda(non_blocking=True)).sum()
        stats[1] += y.numel()
    dist.all_reduce(stats)
    return (stats[0] / stats[1]).item()


def main():
    args = parser.parse_args()
    rank, world = init_slurm()
    torch.manual_seed(args.seed)
    net = build_model().cuda()
    for t in list(net.parameters()) + list(net.buffers()):
        dist.broadcast(t.data, src=0)

    train_loader, test_loader = build_loaders(args)
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=args.wd, nesterov=True)
    sched = torch.optim.lr_scheduler.OneCycleLR(
        opt, max_lr=args.lr, total_steps=args.epochs * len(train_loader), pct_start=0.1
    )
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    averager = ParameterAverager(net)

    it = 0
    for epoch in range(args.epochs):
        train_loader.sampler.set_epoch(epoch)
        every = 1 if epoch < args.warmup_epochs else args.sync_every
        net.train()
        for x, y in train_loader:
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            averager.finish()
            loss = criterion(net(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
            it += 1
            if it % every == 0:
                averager.launch()

        averager.finish()
        averager.launch()
        averager.finish()
        acc = accuracy(net, test_loader)
        if rank == 0:
            print(f"epoch {epoch:3d}  H={every}  loss {loss.item():.3f}  acc {100 * acc:.2f}", flush=True)

    if rank == 0:
        torch.save(net.state_dict(), "localsgd_resnet18.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
