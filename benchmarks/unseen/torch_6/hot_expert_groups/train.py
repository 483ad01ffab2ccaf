"""Mixture-of-experts toy with dynamic replication of crowded experts."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn

from experts import ExpertBank, Placement


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--rebalance-at", type=int, default=20)
    ap.add_argument("--average-every", type=int, default=5)
    ap.add_argument("--eval-at", type=int, default=40)
    ap.add_argument("--experts", type=int, default=4)
    return ap.parse_args()


class Model(nn.Module):
    def __init__(self, experts, dim=16):
        super().__init__()
        self.router = nn.Linear(dim, experts)
        self.bank = ExpertBank(experts, dim)
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        return self.out(self.bank(x, self.router(x).argmax(-1))).squeeze(-1)


def sync_dense(model, world):
    for module in (model.router, model.out):
        for p in module.parameters():
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            p.grad.div_(world)


def evaluate(model, group, rank):
    """Held-out error, gathered on the evaluation group's first rank."""
    g = torch.Generator().manual_seed(77)
    x = torch.randn(32, 16, generator=g)
    with torch.no_grad():
        err = (model(x) - x.sum(1)).abs().mean().reshape(1)
    box = [torch.zeros(1) for _ in range(dist.get_world_size(group))]
    dist.all_gather(box, err, group=group)
    return torch.cat(box).mean().item()


def main():
    args = parse()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(5)
    model = Model(args.experts)
    placement = Placement(args.experts, world)
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    gen = torch.Generator().manual_seed(rank)
    eval_group = None

    for step in range(1, args.steps + 1):
        x = torch.randn(8, 16, generator=gen)
        loss = (model(x) - x.sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        sync_dense(model, world)
        opt.step()
        if step == args.rebalance_at:
            # expert 1 is the crowded one in this mixture
            placement.replicate(1, (1 + 1) % world)
        if step % args.average_every == 0:
            model.bank.average_replicas(placement, rank)
        if step % args.eval_at == 0:
            if eval_group is None:
                eval_group = dist.new_group(list(range(world)))
            err = evaluate(model, eval_group, rank)
            if rank == 0:
                print(f"step {step} held-out {err:.4f}", flush=True)
        time.sleep(0.02)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
