"""Two-tower retrieval for the feed. Every rank reads the click log of its own region.

    torchrun --nproc-per-node 4 train.py
"""
import argparse
import os

import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from clicks import ClickLog
from model import TwoTower


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--users", type=int, default=500)
    p.add_argument("--items", type=int, default=300)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="two_tower.pt")
    return p.parse_args()


def train_epoch(model, loader, opt, device):
    model.train()
    total = torch.zeros((), device=device)
    steps = torch.zeros((), device=device)
    # regions have different numbers of batches, let the short ones join early
    with Join([model]):
        for users, items in loader:
            users, items = users.to(device), items.to(device)
            loss = model(users, items)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            step_loss = loss.detach().clone()
            dist.all_reduce(step_loss)
            total += step_loss / dist.get_world_size()
            steps += 1
    return (total / steps).item()


def main():
    args = parse()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(args.seed + rank)

    data = ClickLog(rank, args.users, args.items)
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, drop_last=True)
    model = TwoTower(args.users, args.items).to(device)
    model = DDP(model, device_ids=[local_rank] if cuda else None)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        loss = train_epoch(model, loader, opt, device)
        if rank == 0:
            print(f"epoch {epoch} loss {loss:.4f}", flush=True)

    dist.barrier()
    if rank == 0:
        torch.save(model.module.state_dict(), args.out)
        print("saved", args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
