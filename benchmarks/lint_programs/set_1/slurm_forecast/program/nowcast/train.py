import argparse
import csv
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset
from torch.utils.data.distributed import DistributedSampler

from nowcast.env import connect, mean_over_tasks, read_env
from nowcast.radar import RadarDays, split_days
from nowcast.unet import UNet, weighted_l1


def cli():
    ap = argparse.ArgumentParser()
    ap.add_argument("--days", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--batch", type=int, default=4)
    ap.add_argument("--lr", type=float, default=2e-4)
    ap.add_argument("--workers", type=int, default=8)
    return ap.parse_args()


def loaders(args, env):
    train_days, valid_days = split_days(args.days)
    train_set = RadarDays(train_days)
    sampler = DistributedSampler(train_set, env.world_size, env.rank, shuffle=True, seed=2022)
    train = DataLoader(train_set, args.batch, sampler=sampler, num_workers=args.workers,
                       drop_last=True, pin_memory=True, persistent_workers=args.workers > 0)
    valid_set = RadarDays(valid_days, train=False)
    mine = range(env.rank, len(valid_set), env.world_size)
    valid = DataLoader(Subset(valid_set, mine), args.batch, num_workers=args.workers)
    return train, sampler, valid


@torch.no_grad()
def validate(net, loader, device):
    net.eval()
    total, count = torch.zeros((), device=device), torch.zeros((), device=device)
    for past, future in loader:
        pred = net(past.to(device))
        total += weighted_l1(pred, future.to(device)) * past.shape[0]
        count += past.shape[0]
    net.train()
    return mean_over_tasks(total, count)


def main():
    args = cli()
    env = read_env()
    device = torch.device("cuda", env.rank)
    torch.cuda.set_device(device)
    connect(env)

    out = Path(args.out)
    if env.is_writer:
        out.mkdir(parents=True, exist_ok=True)

    torch.manual_seed(100 + env.rank)
    train, sampler, valid = loaders(args, env)
    net = UNet().to(device)
    model = DistributedDataParallel(net, device_ids=[device.index]) if env.distributed else net
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    steps = args.epochs * len(train)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=steps)
    best = float("inf")

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        began = time.time()
        running = torch.zeros((), device=device)
        for past, future in train:
            past, future = past.to(device, non_blocking=True), future.to(device, non_blocking=True)
            loss = weighted_l1(model(past), future)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
            running += loss.detach()
        train_loss = mean_over_tasks(running, torch.full_like(running, len(train)))
        valid_loss = validate(net, valid, device)

        if env.is_writer:
            with open(out / "history.csv", "a", newline="") as f:
                csv.writer(f).writerow([epoch, train_loss, valid_loss, round(time.time() - began)])
            if valid_loss < best:
                torch.save(net.state_dict(), out / "best.pt")
        best = min(best, valid_loss)

    if env.distributed:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
