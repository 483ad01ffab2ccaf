"""Population based training of a load forecaster.

    torchrun --nproc-per-node 4 train.py --members 2
"""
import argparse
import os
import random

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

from groups import Population


def make_series(n, window, seed):
    gen = torch.Generator().manual_seed(seed)
    start = torch.rand(n, 1, generator=gen) * 100
    t = start + torch.arange(window + 1)
    y = torch.sin(t / 3) + 0.5 * torch.sin(t / 11) + 0.05 * torch.randn(n, window + 1, generator=gen)
    return TensorDataset(y[:, :-1], y[:, -1:])


def evaluate(net, loader, pop, device):
    net.eval()
    total, count = torch.zeros((), device=device), torch.zeros((), device=device)
    with torch.no_grad():
        for x, y in loader:
            total += F.mse_loss(net(x.to(device)), y.to(device), reduction="sum")
            count += len(x)
    net.train()
    return pop.mean(total, count)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--members", type=int, default=2)
    p.add_argument("--generations", type=int, default=3)
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--window", type=int, default=24)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="best_member.pt")
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    rank = dist.get_rank()
    pop = Population(args.members)
    rng = random.Random(args.seed + rank)
    torch.manual_seed(args.seed + pop.index)

    train, val = make_series(256, args.window, 1), make_series(64, args.window, 2)
    sampler = DistributedSampler(train, num_replicas=pop.size, rank=pop.member_rank, seed=pop.index)
    loader = DataLoader(train, args.batch_size, sampler=sampler)
    val_loader = DataLoader(Subset(val, range(pop.member_rank, len(val), pop.size)), args.batch_size)

    net = nn.Sequential(nn.Linear(args.window, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
    model = DDP(net, device_ids=[local_rank] if cuda else None, process_group=pop.group)
    lr = pop.share(10 ** rng.uniform(-3.5, -1.5), device)
    opt = torch.optim.Adam(model.parameters(), lr=lr)

    for gen in range(args.generations):
        for epoch in range(args.epochs):
            sampler.set_epoch(gen * args.epochs + epoch)
            for x, y in loader:
                loss = F.mse_loss(model(x.to(device)), y.to(device))
                opt.zero_grad(set_to_none=True)
                loss.backward()
                opt.step()
        scores = pop.scores(evaluate(net, val_loader, pop, device))
        winner, loser = scores.index(min(scores)), scores.index(max(scores))
        if rank == 0:
            print(f"gen {gen} scores {[round(s, 4) for s in scores]} winner {winner}", flush=True)
        if gen + 1 < args.generations and winner != loser:
            pop.copy_weights(net, winner, loser)
            if pop.index == loser:
                lr = pop.share(lr * rng.choice([0.5, 2.0]), device)
                opt = torch.optim.Adam(model.parameters(), lr=lr)

    if pop.index == winner and pop.is_leader:
        torch.save(net.state_dict(), args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
