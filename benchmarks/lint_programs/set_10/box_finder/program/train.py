import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Subset
from torch.utils.data.distributed import DistributedSampler

from boxes.data import GridBoxes
from boxes.evaluator import AveragePrecision
from boxes.model import build_detector


def init():
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    if not cuda:
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    return device


def loaders(args):
    rank, world = dist.get_rank(), dist.get_world_size()
    train, val = GridBoxes(args.images, args.seed), GridBoxes(args.val_images, args.seed + 1)
    sampler = DistributedSampler(train, seed=args.seed)
    train_loader = DataLoader(train, args.batch_size, sampler=sampler)
    val_loader = DataLoader(Subset(val, range(rank, len(val), world)), args.batch_size)
    return sampler, train_loader, val_loader


@torch.no_grad()
def evaluate(net, loader, metric, device):
    net.eval()
    metric.reset()
    for images, targets in loader:
        images, targets = images.to(device), targets.to(device)
        metric.update(net(images).squeeze(1).sigmoid(), targets)
    ap = metric.compute()
    net.train()
    return ap


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--images", type=int, default=512)
    p.add_argument("--val-images", type=int, default=128)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--seed", type=int, default=5)
    p.add_argument("--out", default="work/detector.pt")
    args = p.parse_args()

    device = init()
    torch.manual_seed(args.seed)
    sampler, train_loader, val_loader = loaders(args)
    net = build_detector().to(device)
    model = DDP(net, device_ids=[device.index] if device.type == "cuda" else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    metric = AveragePrecision(device)
    weight = torch.tensor(8.0, device=device)
    best = -1.0

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for images, targets in train_loader:
            images, targets = images.to(device), targets.to(device)
            logits = model(images).squeeze(1)
            loss = F.binary_cross_entropy_with_logits(logits, targets, pos_weight=weight)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        ap = evaluate(model.module, val_loader, metric, device)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: AP {ap:.3f}", flush=True)
            if ap > best:
                best = ap
                os.makedirs(os.path.dirname(args.out), exist_ok=True)
                torch.save({"model": model.module.state_dict(), "ap": ap}, args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
