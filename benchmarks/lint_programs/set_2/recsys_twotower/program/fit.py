import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from data import load_split, shard
from model import Patience, TwoTower


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    sums = torch.zeros(2, dtype=torch.float64, device=device)
    for u, i, y in loader:
        logit = model(u.to(device), i.to(device))
        sums[0] += F.binary_cross_entropy_with_logits(logit, y.to(device), reduction="sum")
        sums[1] += y.numel()
    model.train()
    return sums


def run(args):
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))

    train, valid = load_split(args.train), load_split(args.valid)
    sampler = DistributedSampler(train)
    train_loader = DataLoader(train, args.batch, sampler=sampler, num_workers=4, pin_memory=True)
    valid_loader = DataLoader(shard(valid, rank, world), 4 * args.batch)

    net = TwoTower(args.users, args.items).to(device)
    model = DistributedDataParallel(net, device_ids=[device.index])
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    stopper = Patience(args.patience)
    best = float("inf")

    for epoch in range(args.max_epochs):
        sampler.set_epoch(epoch)
        for u, i, y in train_loader:
            logit = model(u.to(device, non_blocking=True), i.to(device, non_blocking=True))
            loss = F.binary_cross_entropy_with_logits(logit, y.to(device, non_blocking=True))
            opt.zero_grad()
            loss.backward()
            opt.step()

        sums = evaluate(net, valid_loader, device)
        val_loss = (sums[0] / sums[1]).item()
        if rank == 0:
            print(f"epoch {epoch} train {loss.item():.4f} valid {val_loss:.4f}")
            if val_loss < best:
                torch.save(net.state_dict(), args.out)
        best = min(best, val_loss)
        if stopper.update(val_loss):
            break


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--train", required=True)
    p.add_argument("--valid", required=True)
    p.add_argument("--users", type=int, required=True)
    p.add_argument("--items", type=int, required=True)
    p.add_argument("--batch", type=int, default=8192)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--patience", type=int, default=3)
    p.add_argument("--max-epochs", type=int, default=100)
    p.add_argument("--out", default="two_tower.pt")
    args = p.parse_args()

    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    try:
        run(args)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
