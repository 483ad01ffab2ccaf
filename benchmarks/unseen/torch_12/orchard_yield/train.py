"""Yield of orchards, one region for each rank; weights are averaged every few steps (local SGD)."""
import argparse
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

from committee import Committee


def region(rank, count, features, spoiled):
    g = torch.Generator().manual_seed(50 + rank)
    x = torch.randn(count, features, generator=g)
    weights = torch.randn(features, generator=torch.Generator().manual_seed(0))
    y = x @ weights + 0.1 * torch.randn(count, generator=g)
    if spoiled:
        y = y + 6.0 * torch.randn(count, generator=g)
    return x, y


class LocalTrainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        self.x, self.y = region(self.rank, args.trees, args.features, self.rank == args.hail)
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(args.features, 32), nn.ReLU(), nn.Linear(32, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr)
        self.committee = Committee(args.patience, args.margin)
        self.g = torch.Generator().manual_seed(self.rank)

    def local_steps(self):
        total = 0.0
        for _ in range(self.args.local):
            pick = torch.randint(0, len(self.x), (self.args.batch,), generator=self.g)
            time.sleep(0.015)
            loss = nn.functional.mse_loss(self.model(self.x[pick]).squeeze(-1), self.y[pick])
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            total += loss.item()
        return total / self.args.local

    def gather(self, loss):
        losses = [torch.zeros(1) for _ in range(dist.get_world_size())]
        dist.all_gather(losses, torch.tensor([loss]))
        return [value.item() for value in losses]

    def audit(self, turn):
        """Distance of each region's weights from the mean, on a group of its own with a longer timeout."""
        group = dist.new_group(list(range(dist.get_world_size())), timeout=timedelta(hours=2))
        flat = nn.utils.parameters_to_vector(self.model.parameters()).detach()
        mean = flat.clone()
        dist.all_reduce(mean, group=group)
        drift = (flat - mean / dist.get_world_size()).norm()
        dist.all_reduce(drift, dist.ReduceOp.MAX, group=group)
        if self.rank == 0:
            print(f"round {turn}: largest drift {drift.item():.3f}", flush=True)

    def fit(self):
        for turn in range(self.args.rounds):
            loss = self.local_steps()
            self.committee.average(self.model)
            losses = self.gather(loss)
            if self.committee.review(losses) and self.rank == 0:
                print(f"round {turn}: committee is now {self.committee.members}", flush=True)
            if turn == self.args.audit_at:
                self.audit(turn)
            if self.rank == 0:
                print(f"round {turn}: " + " ".join(f"{v:.3f}" for v in losses), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trees", type=int, default=600)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--local", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--patience", type=int, default=15)
    parser.add_argument("--audit-at", type=int, default=32)
    parser.add_argument("--margin", type=float, default=2.0)
    parser.add_argument("--hail", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    LocalTrainer(args).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
