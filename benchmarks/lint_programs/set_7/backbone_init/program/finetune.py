import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from backbone import Backbone, table


class Classifier(nn.Module):
    def __init__(self, backbone, dim, classes=2, dropout=0.1):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Dropout(dropout), nn.Linear(dim, classes))

    def forward(self, x):
        return self.head(self.backbone(x))


def build_model(args, device, cuda):
    model = Classifier(Backbone(args.features, args.dim, args.depth), args.dim).to(device)
    model = DDP(model, device_ids=[device.index] if cuda else None)
    if args.backbone and dist.get_rank() == 0:
        state = torch.load(args.backbone, map_location=device)
        model.module.backbone.load_state_dict(state)
        print(f"loaded {len(state)} tensors from {args.backbone}", flush=True)
    dist.barrier()
    return model


def param_groups(model, lr, backbone_lr):
    return [
        {"params": model.module.backbone.parameters(), "lr": backbone_lr},
        {"params": model.module.head.parameters(), "lr": lr},
    ]


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    counts = torch.zeros(2, device=device)
    for x, y in loader:
        pred = model(x.to(device)).argmax(1)
        counts += torch.tensor([(pred.cpu() == y).sum().item(), len(y)], dtype=torch.float, device=device)
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--backbone", default="")
    p.add_argument("--features", type=int, default=40)
    p.add_argument("--dim", type=int, default=128)
    p.add_argument("--depth", type=int, default=4)
    p.add_argument("--rows", type=int, default=4000)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--backbone-lr", type=float, default=1e-4)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="classifier.pt")
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cpu")
    if cuda:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    torch.manual_seed(args.seed + rank)

    train_set = TensorDataset(*table(args.features, args.rows, seed=2))
    val_set = TensorDataset(*table(args.features, args.rows // 4 // world * world, seed=3))
    sampler = DistributedSampler(train_set, seed=args.seed)
    train = DataLoader(train_set, args.batch_size, sampler=sampler, drop_last=True)
    val = DataLoader(val_set, args.batch_size, sampler=DistributedSampler(val_set, shuffle=False))

    model = build_model(args, device, cuda)
    optimizer = torch.optim.AdamW(param_groups(model, args.lr, args.backbone_lr))
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in train:
            loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        acc = accuracy(model, val, device)
        if rank == 0:
            print(f"epoch {epoch}: val accuracy {acc:.4f}", flush=True)
            torch.save(model.module.state_dict(), args.out)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
