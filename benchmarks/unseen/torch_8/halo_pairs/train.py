"""Message passing on a partitioned graph: every part shares border nodes with its two neighbours."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn


class Borders:
    """One process group per pair of neighbouring parts."""

    def __init__(self, rank, world, width):
        self.rank = rank
        pairs = [tuple(sorted((i, (i + 1) % world))) for i in range(world)]
        groups = {pair: dist.new_group(list(pair)) for pair in pairs}
        left = tuple(sorted((rank, (rank - 1) % world)))
        right = tuple(sorted((rank, (rank + 1) % world)))
        self.sides = [("left", groups[left]), ("right", groups[right])]
        self.width = width

    def blend(self, nodes):
        """Average the border rows with the neighbour's copy of them."""
        w = self.width
        for side, group in self.sides:
            rows = slice(0, w) if side == "left" else slice(-w, None)
            shared = nodes[rows].clone()
            dist.all_reduce(shared, group=group)
            nodes[rows] = shared / 2
        return nodes


class Conv(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.own = nn.Linear(dim, dim)
        self.agg = nn.Linear(dim, dim, bias=False)

    def forward(self, x, adj):
        return torch.tanh(self.own(x) + adj @ self.agg(x))


def average_gradients(params, world):
    flat = torch.cat([p.grad.flatten() for p in params])
    dist.all_reduce(flat)
    flat /= world
    offset = 0
    for p in params:
        p.grad.copy_(flat[offset:offset + p.numel()].view_as(p))
        offset += p.numel()


def main(args):
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    borders = Borders(rank, world, args.border)
    torch.manual_seed(3)
    net = nn.ModuleList([Conv(args.dim), Conv(args.dim)])
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    gen = torch.Generator().manual_seed(rank)
    nodes = torch.randn(args.nodes, args.dim, generator=gen)
    adj = (torch.rand(args.nodes, args.nodes, generator=gen) < 0.2).float() / 6

    for it in range(args.iters):
        h = nodes
        for layer in net:
            h = layer(h, adj)
        loss = (h - nodes.roll(1, 0)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        average_gradients(list(net.parameters()), world)
        opt.step()
        time.sleep(0.02)
        if it and it % args.exchange_every == 0:
            nodes = borders.blend(nodes)
        if rank == 0 and it % 10 == 0:
            print(f"it {it} loss {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=50)
    ap.add_argument("--nodes", type=int, default=30)
    ap.add_argument("--dim", type=int, default=8)
    ap.add_argument("--border", type=int, default=4)
    ap.add_argument("--exchange-every", type=int, default=12)
    main(ap.parse_args())
