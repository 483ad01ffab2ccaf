import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torchvision
import torchvision.transforms as T
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="./data")
parser.add_argument("--epochs", type=int, default=120)
parser.add_argument("--batch-size", type=int, default=64, help="per gpu")
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--wd", type=float, default=5e-4)
parser.add_argument("--out", default="resnet18_cifar.pt")


def build_loaders(args, local_rank):
    norm = T.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
    train_tf = T.Compose([T.RandomCrop(32, 4), T.RandomHorizontalFlip(), T.ToTensor(), norm])
    test_tf = T.Compose([T.ToTensor(), norm])

    if local_rank == 0:
        torchvision.datasets.CIFAR10(args.data, train=True, download=True)
    dist.barrier()

    train_set = torchvision.datasets.CIFAR10(args.data, train=True, transform=train_tf)
    test_set = torchvision.datasets.CIFAR10(args.data, train=False, transform=test_tf)
    train_sampler = DistributedSampler(train_set, shuffle=True, drop_last=True)
    test_sampler = DistributedSampler(test_set, shuffle=False)
    train_loader = DataLoader(train_set, args.batch_size, sampler=train_sampler, num_workers=4,
                              pin_memory=True, drop_last=True)
    test_loader = DataLoader(test_set, 250, sampler=test_sampler, num_workers=2, pin_memory=True)
    return train_loader, test_loader


def make_model():
    net = torchvision.models.resnet18(num_classes=10)
    net.conv1 = nn.Conv2d(3, 64, 3, stride=1, padding=1, bias=False)
    net.maxpool = nn.Identity()
    return net


@torch.no_grad()
def test(model, loader, device):
    model.eval()
    hits = torch.zeros(2, device=device)
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        hits[0] += (model(x).argmax(1) == y).sum()
        hits[1] += y.numel()
    dist.all_reduce(hits)
    return (hits[0] / hits[1]).item()


def main():
    args = parser.parse_args()
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)
    torch.manual_seed(1234 + dist.get_rank())

    train_loader, test_loader = build_loaders(args, local_rank)
    model = make_model().to(device)
    model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    model = DDP(model, device_ids=[local_rank])
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=args.wd, nesterov=True)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    best = 0.0
    for epoch in range(args.epochs):
        test_loader.sampler.set_epoch(epoch)
        model.train()
        t0 = time.time()
        for x, y in train_loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = criterion(model(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        sched.step()

        acc = test(model, test_loader, device)
        if dist.get_rank() == 0:
            print(f"epoch {epoch:3d}  loss {loss.item():.3f}  test acc {100 * acc:.2f}  {time.time() - t0:.1f}s")
            if acc > best:
                torch.save(model.module.state_dict(), args.out)
        best = max(best, acc)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
