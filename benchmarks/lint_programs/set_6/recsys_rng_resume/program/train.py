import argparse
import os
import random

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from bpr import BPR, Purchases, hit_rate
from checkpoint import Checkpointer


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--pairs", type=int, default=200000)
    p.add_argument("--users", type=int, default=5000)
    p.add_argument("--items", type=int, default=2000)
    p.add_argument("--negatives", type=int, default=16)
    p.add_argument("--batch-size", type=int, default=1024)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--seed", type=int, default=7)
    p.add_argument("--ckpt", default="bpr.ckpt")
    return p.parse_args()


def main():
    args = parse()
    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    seed_everything(args.seed + rank)
    train = Purchases(args.pairs, args.users, args.items)
    test = Purchases(2000, args.users, args.items, seed=1)
    net = BPR(args.users, args.items).to(device)
    model = DDP(net, device_ids=[local_rank] if cuda else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    checkpointer = Checkpointer(args.ckpt, net, optimizer)
    start = checkpointer.restore()

    sampler = DistributedSampler(train, seed=args.seed, drop_last=True)
    loader = DataLoader(train, args.batch_size, sampler=sampler, drop_last=True)
    for epoch in range(start, args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        stats = torch.zeros(2, device=device)
        for user, item in loader:
            negatives = torch.randint(0, args.items, (len(user), args.negatives), device=device)
            loss = model(user.to(device), item.to(device), negatives)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            stats += torch.stack([loss.detach(), torch.ones((), device=device)])

        mine = torch.arange(rank, len(test), world)
        hits = hit_rate(net, test.user[mine].to(device), test.item[mine].to(device))
        result = torch.tensor([stats[0], stats[1], hits.sum(), hits.numel()], device=device)
        dist.all_reduce(result)
        if rank == 0:
            print(f"epoch {epoch} loss {(result[0] / result[1]).item():.4f} hit@50 {(result[2] / result[3]).item():.4f}", flush=True)
        checkpointer.save(epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
