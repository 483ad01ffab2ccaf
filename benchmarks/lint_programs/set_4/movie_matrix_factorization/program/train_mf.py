import argparse
import math
import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


@dataclass
class RatingsConfig:
    users: int = 400
    movies: int = 250
    ratings: int = 8000
    seed: int = 99


class Ratings(Dataset):
    """Triples (user, movie, rating), drawn from a planted low-rank model."""

    def __init__(self, cfg: RatingsConfig, split: str):
        g = torch.Generator().manual_seed(cfg.seed)
        u_fac = torch.randn(cfg.users, 6, generator=g)
        m_fac = torch.randn(cfg.movies, 6, generator=g)
        users = torch.randint(cfg.users, (cfg.ratings,), generator=g)
        movies = torch.randint(cfg.movies, (cfg.ratings,), generator=g)
        score = (u_fac[users] * m_fac[movies]).sum(1) / math.sqrt(6)
        score = (3.5 + score + 0.3 * torch.randn(cfg.ratings, generator=g)).clamp(0.5, 5.0)
        cut = int(cfg.ratings * 0.9)
        part = slice(0, cut) if split == "train" else slice(cut, None)
        self.users, self.movies, self.score = users[part], movies[part], score[part]

    def __len__(self):
        return len(self.users)

    def __getitem__(self, i):
        return self.users[i], self.movies[i], self.score[i]


class BiasedMF(nn.Module):
    def __init__(self, users, movies, factors):
        super().__init__()
        self.u, self.m = nn.Embedding(users, factors), nn.Embedding(movies, factors)
        self.bu, self.bm = nn.Embedding(users, 1), nn.Embedding(movies, 1)
        self.mu = nn.Parameter(torch.tensor(3.5))
        for e in (self.u, self.m):
            nn.init.normal_(e.weight, std=0.1)
        for e in (self.bu, self.bm):
            nn.init.zeros_(e.weight)

    def forward(self, user, movie):
        dot = (self.u(user) * self.m(movie)).sum(-1)
        return self.mu + self.bu(user).squeeze(-1) + self.bm(movie).squeeze(-1) + dot


@torch.no_grad()
def rmse(model, loader, device):
    model.eval()
    tot = torch.zeros(2, dtype=torch.float64, device=device)
    for u, m, r in loader:
        err = model(u.to(device), m.to(device)) - r.to(device)
        tot += torch.stack([(err**2).sum().double(), torch.tensor(float(len(r)), device=device).double()])
    dist.all_reduce(tot)
    return math.sqrt(tot[0].item() / tot[1].item())


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=15)
    p.add_argument("--factors", type=int, default=32)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--ratings", type=int, default=8000)
    p.add_argument("--save", default="mf.pt")
    args = p.parse_args()

    on_gpu = torch.cuda.is_available()
    dist.init_process_group(backend="nccl" if on_gpu else "gloo")
    local = int(os.environ["LOCAL_RANK"])
    device = torch.device(f"cuda:{local}" if on_gpu else "cpu")
    if on_gpu:
        torch.cuda.set_device(local)

    cfg = RatingsConfig(ratings=args.ratings)
    torch.manual_seed(cfg.seed)
    train_ds, test_ds = Ratings(cfg, "train"), Ratings(cfg, "test")
    train_sampler = DistributedSampler(train_ds, shuffle=True, seed=cfg.seed, drop_last=True)
    train_dl = DataLoader(train_ds, batch_size=args.batch_size, sampler=train_sampler)
    test_dl = DataLoader(test_ds, batch_size=512, sampler=DistributedSampler(test_ds, shuffle=False))

    model = BiasedMF(cfg.users, cfg.movies, args.factors).to(device)
    model = DistributedDataParallel(model, device_ids=[local] if on_gpu else None)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=args.epochs)

    for epoch in range(args.epochs):
        model.train()
        for user, movie, rating in train_dl:
            pred = model(user.to(device), movie.to(device))
            loss = nn.functional.mse_loss(pred, rating.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()
        score = rmse(model, test_dl, device)
        if dist.get_rank() == 0:
            print(f"[{epoch}] test rmse {score:.4f} lr {sched.get_last_lr()[0]:.2e}", flush=True)

    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), args.save)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
