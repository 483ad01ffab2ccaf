"""Message passing net that regresses a molecular energy (synthetic molecules)."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from dist_env import setup


class Molecules(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        k = int(torch.randint(4, 10, (1,), generator=g))
        z = torch.randint(1, 6, (k,), generator=g)
        pos = torch.randn(k, 3, generator=g)
        energy = (z.float()[:, None] * z.float()[None] / (1 + torch.cdist(pos, pos))).mean() / 10
        return z, pos, energy


def collate(batch):
    z = torch.cat([b[0] for b in batch])
    pos = torch.cat([b[1] for b in batch])
    idx = torch.cat([torch.full((len(b[0]),), i) for i, b in enumerate(batch)])
    same = idx[:, None] == idx[None]
    src, dst = same.fill_diagonal_(False).nonzero(as_tuple=True)
    return z, pos, idx, src, dst, torch.stack([b[2] for b in batch])


class MPNN(nn.Module):
    def __init__(self, dim=48, layers=3):
        super().__init__()
        self.emb = nn.Embedding(10, dim)
        self.msg = nn.ModuleList(nn.Sequential(nn.Linear(2 * dim + 1, dim), nn.SiLU()) for _ in range(layers))
        self.out = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 1))

    def forward(self, z, pos, idx, src, dst, num):
        h = self.emb(z)
        d = (pos[src] - pos[dst]).norm(dim=-1, keepdim=True)
        for msg in self.msg:
            m = msg(torch.cat([h[src], h[dst], d], -1))
            h = h + torch.zeros_like(h).index_add(0, dst, m)
        pooled = torch.zeros(num, h.size(1), device=h.device).index_add(0, idx, h)
        return self.out(pooled).squeeze(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=100)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--num", type=int, default=50_000)
    ap.add_argument("--lr", type=float, default=5e-4)
    args = ap.parse_args()

    env = setup()
    torch.manual_seed(0)
    model = MPNN().to(env.device)
    model = DDP(model, device_ids=[env.device.index] if env.device.type == "cuda" else None)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    data = Molecules(args.num)
    sampler = DistributedSampler(data, num_replicas=env.world, rank=env.rank, seed=0, drop_last=True)
    loader = DataLoader(data, args.batch_size, sampler=sampler, collate_fn=collate, drop_last=True, num_workers=4,
                        persistent_workers=True)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        mae = torch.zeros(2, device=env.device)
        for batch in loader:
            *g, y = [t.to(env.device) for t in batch]
            pred = model(*g, num=len(y))
            loss = F.l1_loss(pred, y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            mae += torch.stack([loss.detach(), torch.ones_like(loss)])
        dist.all_reduce(mae)
        if env.main:
            print(f"epoch {epoch} mae {(mae[0] / mae[1]).item():.4f}", flush=True)
            torch.save(model.module.state_dict(), "mpnn.pt")

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
