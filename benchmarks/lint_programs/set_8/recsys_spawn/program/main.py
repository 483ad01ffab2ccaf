"""Two-tower recommender with BPR loss on all local cores.

    python main.py --procs 2
"""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from data import Interactions, prepare


class TwoTower(nn.Module):
    def __init__(self, users, items, dim):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.bias = nn.Embedding(items, 1)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        nn.init.zeros_(self.bias.weight)

    def forward(self, u, i):
        return (self.user(u)[:, None] * self.item(i)).sum(-1) + self.bias(i).squeeze(-1)


def bpr_step(model, pairs, items):
    u, pos = pairs[:, 0], pairs[:, 1]
    neg = torch.randint(items, pos.shape)
    score = model(u, torch.stack([pos, neg], 1))
    return -F.logsigmoid(score[:, 0] - score[:, 1]).mean()


@torch.no_grad()
def recall_at(model, data, k, users):
    hits = torch.zeros(2)
    seen = data.pairs.view(data.users, -1, 2)[:, :, 1]
    for u in users:
        s = model.item.weight @ model.user.weight[u] + model.bias.weight[:, 0]
        top = s.topk(k).indices
        hits[0] += torch.isin(top, seen[u]).float().mean()
        hits[1] += 1
    dist.all_reduce(hits)
    return (hits[0] / hits[1]).item()


def worker(rank, args, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    path = prepare(args, rank)
    data = Interactions(path)
    dist.init_process_group("gloo", rank=rank, world_size=args.procs)
    torch.manual_seed(args.seed + rank)

    model = DDP(TwoTower(data.users, data.items, args.dim))
    opt = torch.optim.Adagrad(model.parameters(), lr=args.lr)
    sampler = DistributedSampler(data, args.procs, rank, seed=args.seed)
    loader = DataLoader(data, args.batch_size, sampler=sampler)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        total = 0.0
        for pairs in loader:
            loss = bpr_step(model, pairs, data.items)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        r = recall_at(model.module, data, 10, range(rank, min(200, data.users), args.procs))
        if rank == 0:
            print(f"epoch {epoch} bpr {total / len(loader):.4f} recall@10 {r:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--procs", type=int, default=2)
    p.add_argument("--cache", default="/tmp/recsys_cache")
    p.add_argument("--users", type=int, default=6000)
    p.add_argument("--items", type=int, default=4000)
    p.add_argument("--per-user", type=int, default=8)
    p.add_argument("--dim", type=int, default=16)
    p.add_argument("--batch-size", type=int, default=1024)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--seed", type=int, default=11)
    args = p.parse_args()
    mp.spawn(worker, args=(args, free_port()), nprocs=args.procs)


if __name__ == "__main__":
    main()
