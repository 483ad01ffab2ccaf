"""GraphSAGE node classification on a range-partitioned graph."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

from sampling import CSRGraph, PartitionSampler


class SAGE(nn.Module):
    def __init__(self, dim, hidden, classes):
        super().__init__()
        self.self_lin = nn.Linear(dim, hidden)
        self.neigh_lin = nn.Linear(dim, hidden)
        self.cls = nn.Linear(hidden, classes)

    def forward(self, block):
        h = self.self_lin(block.x_dst) + self.neigh_lin(block.x_src.mean(1))
        return self.cls(F.relu(h))


def flat_allreduce(module, world):
    grads = [p.grad for p in module.parameters()]
    flat = torch.cat([g.reshape(-1) for g in grads])
    dist.all_reduce(flat)
    flat /= world
    offset = 0
    for g in grads:
        g.copy_(flat[offset:offset + g.numel()].view_as(g))
        offset += g.numel()


def usable(sampler):
    for block in sampler:
        if block is None:
            continue
        yield block


def run_epoch(model, opt, sampler, world):
    seen, right = 0, 0
    for block in usable(sampler):
        out = model(block)
        loss = F.cross_entropy(out, block.y)
        opt.zero_grad()
        loss.backward()
        flat_allreduce(model, world)
        opt.step()
        seen += len(block.y)
        right += int((out.argmax(1) == block.y).sum())
        time.sleep(0.02)
    return seen, right


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--nodes", type=int, default=576)
    ap.add_argument("--batch", type=int, default=8)
    ap.add_argument("--epochs", type=int, default=3)
    a = ap.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(7)
    graph = CSRGraph(a.nodes, degree=5)
    sampler = PartitionSampler(graph, rank, world, a.batch)
    model = SAGE(16, 24, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)

    for epoch in range(a.epochs):
        stats = run_epoch(model, opt, sampler, world)
        table = [None] * world
        dist.all_gather_object(table, stats)
        if rank == 0:
            seen, right = map(sum, zip(*table))
            print(f"epoch {epoch}: train acc {right / seen:.3f} on {seen} nodes", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
