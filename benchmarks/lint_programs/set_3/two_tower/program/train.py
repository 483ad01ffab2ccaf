import argparse
import itertools
import random

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


def interaction_log(users, items, seed):
    """Yields (user_id, item_index) the way the export job writes it: user ids are opaque strings."""
    rng = random.Random(seed)
    for u in range(users):
        taste = rng.randrange(items)
        for _ in range(rng.randrange(4, 20)):
            yield f"u-{u:07x}", (taste + rng.randrange(20)) % items


class TwoTower(nn.Module):
    def __init__(self, buckets, items, dim=32):
        super().__init__()
        self.user = nn.Sequential(nn.Embedding(buckets, dim), nn.Linear(dim, dim))
        self.item = nn.Sequential(nn.Embedding(items, dim), nn.Linear(dim, dim))

    def forward(self, u, i):
        return F.normalize(self.user(u), dim=-1) @ F.normalize(self.item(i), dim=-1).T / 0.1


def bucket_of(user_id, buckets):
    return int(user_id[2:], 16) % buckets


def load_partition(args, rank, world):
    rows = []
    for user_id, item in interaction_log(args.users, args.items, args.seed):
        if hash(user_id) % world == rank:
            rows.append((bucket_of(user_id, args.buckets), item))
    return rows


def batches(rows, size, seed):
    rng = random.Random(seed)
    while True:
        rng.shuffle(rows)
        for k in range(0, len(rows) - size + 1, size):
            chunk = rows[k:k + size]
            yield torch.tensor([r[0] for r in chunk]), torch.tensor([r[1] for r in chunk])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--users", type=int, default=20_000)
    ap.add_argument("--items", type=int, default=2_000)
    ap.add_argument("--buckets", type=int, default=20_000)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--steps", type=int, default=5_000)
    ap.add_argument("--log-every", type=int, default=100)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--seed", type=int, default=5)
    args = ap.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    rows = load_partition(args, rank, world)
    n_rows = torch.tensor(len(rows))
    print(f"[worker {rank}] {len(rows)} interactions", flush=True)
    dist.all_reduce(n_rows)
    if rank == 0:
        print(f"{int(n_rows)} interactions in all partitions", flush=True)

    torch.manual_seed(args.seed)
    model = DDP(TwoTower(args.buckets, args.items))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)

    # fixed number of steps, a worker with fewer rows goes round more often
    for step, (u, i) in enumerate(itertools.islice(batches(rows, args.batch_size, args.seed + rank), args.steps)):
        logits = model(u, i)
        loss = F.cross_entropy(logits, torch.arange(len(u)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % args.log_every == 0:
            avg = loss.detach().clone()
            dist.all_reduce(avg)
            if rank == 0:
                print(f"step {step} loss {avg.item() / world:.4f}", flush=True)

    if rank == 0:
        torch.save(model.module.state_dict(), "two_tower.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
