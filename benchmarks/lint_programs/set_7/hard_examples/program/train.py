"""Training with data pruning: after a warm-up only the hardest examples are used.

The examples are scored again every --rescore epochs.
"""
import argparse
import csv
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Subset
from torch.utils.data.distributed import DistributedSampler

import data
from scoring import hardest, score_examples


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--train", default="")
    p.add_argument("--samples", type=int, default=20001)
    p.add_argument("--noise", type=float, default=0.15)
    p.add_argument("--hidden", type=int, default=256)
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--warmup", type=int, default=5)
    p.add_argument("--rescore", type=int, default=5)
    p.add_argument("--keep", type=float, default=0.4)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--scores", default="scores.csv")
    return p.parse_args()


def make_loader(dataset, args):
    sampler = DistributedSampler(dataset, shuffle=True, seed=args.seed, drop_last=True)
    return DataLoader(dataset, args.batch_size, sampler=sampler, drop_last=True)


def train_epoch(model, loader, optimizer, epoch, device):
    model.train()
    loader.sampler.set_epoch(epoch)
    total = torch.zeros(2, device=device)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total[0] += loss.detach()
        total[1] += 1
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def write_scores(path, scores):
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["index", "loss"])
        out.writerows((i, f"{s:.6f}") for i, s in enumerate(scores.tolist()))


def main():
    args = parse_args()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    device = torch.device("cpu")
    if cuda:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)

    torch.manual_seed(args.seed)
    full = data.load(args.train, args.samples, args.noise, args.seed)
    net = nn.Sequential(
        nn.Linear(full[0][0].numel(), args.hidden), nn.ReLU(),
        nn.Linear(args.hidden, args.hidden), nn.ReLU(),
        nn.Linear(args.hidden, 2),
    ).to(device)
    model = DDP(net, device_ids=[device.index] if cuda else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    loader = make_loader(full, args)
    for epoch in range(args.epochs):
        if epoch >= args.warmup and (epoch - args.warmup) % args.rescore == 0:
            scores = score_examples(net, full, args.batch_size, device)
            kept = hardest(scores, args.keep)
            loader = make_loader(Subset(full, kept), args)
            if rank == 0:
                write_scores(args.scores, scores)
                print(f"epoch {epoch}: training on {len(kept)} of {len(full)} examples", flush=True)
        loss = train_epoch(model, loader, optimizer, epoch, device)
        if rank == 0:
            print(f"epoch {epoch}: loss {loss:.4f}", flush=True)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
