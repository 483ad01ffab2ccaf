"""Store demand forecasting, elastic DDP with snapshots."""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

HISTORY, HORIZON = 28, 7


def build_dataset(n=512):
    g = torch.Generator().manual_seed(3)
    t = torch.arange(HISTORY + HORIZON).float()
    phase = torch.rand(n, 1, generator=g) * 6.28
    level = torch.rand(n, 1, generator=g) * 4 + 1
    series = level * (1.5 + torch.sin(2 * torch.pi * t / 7 + phase))
    series = series + 0.1 * torch.randn(series.shape, generator=g)
    return TensorDataset(series[:, :HISTORY], series[:, HISTORY:])


class Forecaster(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(HISTORY, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, HORIZON))

    def forward(self, x):
        return self.net(x)


def save_snapshot(path, model, optimizer, epoch):
    tmp = path + ".tmp"
    torch.save({
        "model": model.module.state_dict(),
        "optimizer": optimizer.state_dict(),
        "epoch": epoch,
    }, tmp)
    os.replace(tmp, path)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--snapshot", default="snapshot.pt")
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=1e-3, help="learning rate of one worker")
    args = ap.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    torch.manual_seed(11)

    net = Forecaster().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    start_epoch = 0
    if os.path.exists(args.snapshot):
        snap = torch.load(args.snapshot, map_location=device, weights_only=True)
        net.load_state_dict(snap["model"])
        optimizer.load_state_dict(snap["optimizer"])
        start_epoch = snap["epoch"] + 1

    # linear scaling rule for the number of workers we have got this time
    for group in optimizer.param_groups:
        group["lr"] *= world_size
    # nobody may write a new snapshot before everyone has read the old one
    dist.barrier()

    model = DDP(net, device_ids=[local_rank] if cuda else None)
    ds = build_dataset()
    sampler = DistributedSampler(ds, shuffle=True, drop_last=True)
    loader = DataLoader(ds, args.batch_size, sampler=sampler, drop_last=True)

    for epoch in range(start_epoch, args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros(2, device=device)
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            loss = F.smooth_l1_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total[0] += loss.detach()
            total[1] += 1
        dist.all_reduce(total)
        if rank == 0:
            lr = optimizer.param_groups[0]["lr"]
            print(f"epoch {epoch} workers {world_size} lr {lr:.2e} "
                  f"loss {(total[0] / total[1]).item():.4f}", flush=True)
            save_snapshot(args.snapshot, model, optimizer, epoch)
        dist.barrier()

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
