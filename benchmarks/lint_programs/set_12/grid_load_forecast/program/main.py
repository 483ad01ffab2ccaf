"""Day-ahead forecast of grid load.   python main.py --nprocs 2"""
import argparse
import math
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class LoadSeries(Dataset):
    """Sliding windows over an hourly load curve."""

    def __init__(self, hours, history, horizon, seed=3):
        gen = torch.Generator().manual_seed(seed)
        t = torch.arange(hours, dtype=torch.float32)
        daily = torch.sin(2 * math.pi * t / 24)
        weekly = 0.5 * torch.sin(2 * math.pi * t / 168)
        self.series = daily + weekly + 0.1 * torch.randn(hours, generator=gen)
        self.history, self.horizon = history, horizon

    def __len__(self):
        return len(self.series) - self.history - self.horizon + 1

    def __getitem__(self, i):
        mid = i + self.history
        return self.series[i:mid], self.series[mid:mid + self.horizon]


class Forecaster(nn.Module):
    def __init__(self, history, horizon, hidden):
        super().__init__()
        self.trend = nn.Linear(history, horizon)
        self.residual = nn.Sequential(
            nn.Linear(history, hidden), nn.GELU(), nn.Dropout(0.1), nn.Linear(hidden, horizon)
        )

    def forward(self, x):
        return self.trend(x) + self.residual(x)


def find_free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def worker(rank, args):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(find_free_port())
    use_cuda = torch.cuda.is_available()
    if use_cuda:
        torch.cuda.set_device(rank)
    dist.init_process_group("nccl" if use_cuda else "gloo", rank=rank, world_size=args.nprocs)
    device = torch.device("cuda", rank) if use_cuda else torch.device("cpu")
    try:
        train(rank, device, args)
    finally:
        dist.destroy_process_group()


def train(rank, device, args):
    torch.manual_seed(args.seed)
    data = LoadSeries(args.hours, args.history, args.horizon)
    model = Forecaster(args.history, args.horizon, args.hidden).to(device)
    model = DDP(model, device_ids=[rank] if device.type == "cuda" else None)
    torch.manual_seed(args.seed + 1 + rank)  # dropout differs between ranks

    sampler = DistributedSampler(data, args.nprocs, rank, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(loader))

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros(2, device=device)
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            loss = F.smooth_l1_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            total[0] += loss.detach() * x.size(0)
            total[1] += x.size(0)
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} train loss {(total[0] / total[1]).item():.4f}", flush=True)

    if rank == 0:
        torch.save(model.module.state_dict(), args.output)
    dist.barrier()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--nprocs", type=int, default=max(torch.cuda.device_count(), 1))
    p.add_argument("--hours", type=int, default=1500)
    p.add_argument("--history", type=int, default=168)
    p.add_argument("--horizon", type=int, default=24)
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--output", default="forecaster.pt")
    args = p.parse_args()
    mp.spawn(worker, args=(args,), nprocs=args.nprocs, join=True)


if __name__ == "__main__":
    main()
