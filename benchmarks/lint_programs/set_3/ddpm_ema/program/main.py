import argparse
import math
import os
import random

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from diffusion import Denoiser, Ema, Schedule
from state import TrainState


def moons(n, seed=0):
    g = torch.Generator().manual_seed(seed)
    a = torch.rand(n, generator=g) * math.pi
    up = torch.rand(n, generator=g) < 0.5
    x = torch.where(up, a.cos(), 1 - a.cos())
    y = torch.where(up, a.sin(), 0.5 - a.sin())
    return TensorDataset(torch.stack([x, y], -1) + 0.05 * torch.randn(n, 2, generator=g))


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=200)
    ap.add_argument("--samples", type=int, default=20_000)
    ap.add_argument("--batch-size", type=int, default=256)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--seed", type=int, default=8)
    ap.add_argument("--out", default="runs/moons")
    ap.add_argument("--resume", action="store_true")
    ap.add_argument("--trace", action="store_true", help="print a checksum of the noise")
    args = ap.parse_args()

    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()

    seed_everything(args.seed + rank)
    net = Denoiser().to(device)
    ddp = DDP(net, device_ids=[local_rank] if cuda else None)
    ema = Ema(net)
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    sched = Schedule(100, device)

    data = moons(args.samples)
    sampler = DistributedSampler(data, seed=args.seed, drop_last=True)
    loader = DataLoader(data, args.batch_size, sampler=sampler, drop_last=True)

    state = TrainState(args.out, net, opt, ema)
    start = state.load(device) if args.resume else 0
    for epoch in range(start, args.epochs):
        sampler.set_epoch(epoch)
        tot = torch.zeros(2, device=device)
        for (x0,) in loader:
            xt, t, eps = sched.noised(x0.to(device))
            if args.trace:
                print(f"[{rank}] epoch {epoch} eps {eps.double().sum().item():.6f}", flush=True)
            loss = F.mse_loss(ddp(xt, t), eps)
            opt.zero_grad()
            loss.backward()
            opt.step()
            ema.update(net)
            tot += torch.stack([loss.detach(), torch.ones_like(loss)])
        dist.all_reduce(tot)
        if rank == 0:
            print(f"epoch {epoch} mse {(tot[0] / tot[1]).item():.4f}", flush=True)
        state.save(epoch)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
