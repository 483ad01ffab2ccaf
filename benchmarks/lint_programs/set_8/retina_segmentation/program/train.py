import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from data import build_loaders
from engine import evaluate, train_one_epoch
from model import MiniUNet


def get_args():
    p = argparse.ArgumentParser("vessel segmentation")
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--n-train", type=int, default=60)
    p.add_argument("--n-val", type=int, default=16)
    p.add_argument("--min-vessel", type=float, default=0.04)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--patience", type=int, default=5)
    p.add_argument("--out", default="/tmp/retina_best.pt")
    return p.parse_args()


def main():
    args = get_args()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    local = int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device(f"cuda:{local}" if cuda else "cpu")
    torch.manual_seed(1234 + rank)

    net = MiniUNet().to(device)
    model = DDP(net, device_ids=[local] if cuda else None)
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    train_loader, val_loader = build_loaders(args, rank, world)

    best, bad = 0.0, 0
    for epoch in range(args.epochs):
        loss = train_one_epoch(model, train_loader, optimizer, device)
        scores = evaluate(net, val_loader, device)
        dice = sum(scores[k] for k in sorted(scores)) / len(scores)
        if rank == 0:
            print(f"epoch {epoch}: loss {loss:.4f} val dice {dice:.4f} ({len(scores)} cases)", flush=True)
        if dice > best:
            best, bad = dice, 0
            if rank == 0:
                torch.save(net.state_dict(), args.out)
        else:
            bad += 1
            if bad >= args.patience:
                break
    if rank == 0:
        print(f"best dice {best:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
