import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, Subset
from torch.utils.data.distributed import DistributedSampler

from model import LeafNet


class LeafImages(Dataset):
    def __init__(self, n, num_classes, seed, size=16):
        gen = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(num_classes, (n,), generator=gen)
        proto = torch.Generator().manual_seed(7)
        prototypes = torch.randn(num_classes, 3, size, size, generator=proto)
        self.images = prototypes[self.labels] + torch.randn(n, 3, size, size, generator=gen)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=32, help="per process")
    p.add_argument("--max-lr", type=float, default=3e-3)
    p.add_argument("--train-size", type=int, default=1000)
    p.add_argument("--val-size", type=int, default=203)
    p.add_argument("--num-classes", type=int, default=8)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--output", default="leafnet.pt")
    return p.parse_args()


def build_optim(args, model, train_set, world_size):
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}],
        lr=args.max_lr,
    )
    steps_per_epoch = len(train_set) // (args.batch_size * world_size)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        max_lr=args.max_lr,
        total_steps=args.epochs * steps_per_epoch,
        pct_start=0.2,
    )
    return optimizer, scheduler


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    stats = torch.zeros(3, dtype=torch.float64, device=device)
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        logits = model(images)
        stats[0] += F.cross_entropy(logits, labels, reduction="sum")
        stats[1] += (logits.argmax(1) == labels).sum()
        stats[2] += labels.numel()
    dist.all_reduce(stats)
    return (stats[0] / stats[2]).item(), (stats[1] / stats[2]).item()


def main():
    args = get_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        device = torch.device("cuda", local_rank)
        dist.init_process_group("nccl")
    else:
        device = torch.device("cpu")
        dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)

    train_set = LeafImages(args.train_size, args.num_classes, seed=11)
    val_set = LeafImages(args.val_size, args.num_classes, seed=12)
    sampler = DistributedSampler(train_set, world_size, rank, shuffle=True, seed=args.seed)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, sampler=sampler)
    # every validation image exactly once, on one of the ranks
    val_loader = DataLoader(
        Subset(val_set, range(rank, len(val_set), world_size)), batch_size=args.batch_size
    )

    model = LeafNet(args.num_classes).to(device)
    ddp = DDP(model, device_ids=[local_rank] if device.type == "cuda" else None)
    optimizer, scheduler = build_optim(args, model, train_set, world_size)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        ddp.train()
        for images, labels in train_loader:
            images, labels = images.to(device), labels.to(device)
            loss = F.cross_entropy(ddp(images), labels, label_smoothing=0.1)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(ddp.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
        val_loss, val_acc = validate(model, val_loader, device)
        if rank == 0:
            lr = scheduler.get_last_lr()[0]
            print(f"epoch {epoch} loss {val_loss:.3f} acc {val_acc:.3f} lr {lr:.2e}", flush=True)

    if rank == 0:
        torch.save(model.state_dict(), args.output)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
