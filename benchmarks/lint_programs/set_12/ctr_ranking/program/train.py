import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from data import Impressions
from metrics import LogLoss


class TwoTower(nn.Module):
    def __init__(self, users, items, dim):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, user, item):
        return (self.user(user) * self.item(item)).sum(1) / 4 + self.bias


def eval_batches(data, batch_size, rank, world):
    """Batches of the whole set in order, each one shared out between the ranks.

    Every rank gets the same number of batches (the last may be empty for it).
    """
    span = batch_size * world
    for start in range(0, len(data), span):
        idx = torch.arange(start, min(start + span, len(data)))[rank::world]
        yield data.user[idx], data.item[idx], data.click[idx]


@torch.no_grad()
def evaluate(model, data, args, rank, world, device):
    model.eval()
    metric = LogLoss(device)
    for step, (user, item, click) in enumerate(eval_batches(data, args.eval_batch, rank, world), 1):
        logits = model(user.to(device), item.to(device))
        metric.update(logits, click.to(device))
        if step % args.eval_log_every == 0:
            now = metric.compute()
            if rank == 0:
                print(f"  eval {step} logloss {now['logloss']:.4f}", flush=True)
    return metric.compute()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--users", type=int, default=200)
    p.add_argument("--items", type=int, default=100)
    p.add_argument("--train-size", type=int, default=4000)
    p.add_argument("--valid-size", type=int, default=1501)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--eval-batch", type=int, default=64)
    p.add_argument("--eval-log-every", type=int, default=4)
    p.add_argument("--lr", type=float, default=1e-2)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--best", default="ctr_best.pt")
    args = p.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)

    train_set = Impressions(args.train_size, args.users, args.items, seed=31)
    valid_set = Impressions(args.valid_size, args.users, args.items, seed=32)
    sampler = DistributedSampler(train_set, world, rank, shuffle=True, seed=args.seed)
    loader = DataLoader(train_set, batch_size=args.batch_size, sampler=sampler)
    net = TwoTower(args.users, args.items, dim=16).to(device)
    model = DDP(net, device_ids=[local_rank] if cuda else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=0)

    best = float("inf")
    train_metric = LogLoss(device)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        train_metric.reset()
        for user, item, click in loader:
            user, item, click = user.to(device), item.to(device), click.to(device)
            logits = model(user, item)
            loss = F.binary_cross_entropy_with_logits(logits, click)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            train_metric.update(logits.detach(), click)
        train = train_metric.compute()
        valid = evaluate(net, valid_set, args, rank, world, device)
        plateau.step(valid["logloss"])
        if rank == 0:
            print(f"epoch {epoch} train {train} valid {valid}", flush=True)
            if valid["logloss"] < best:
                torch.save(net.state_dict(), args.best)
        best = min(best, valid["logloss"])
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
