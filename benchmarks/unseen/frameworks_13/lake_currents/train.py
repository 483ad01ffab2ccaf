"""A learned correction for a model of lake currents. Each rank has a strip of the lake (DTensor over a mesh)."""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_module


class Strip:
    """The rows of one rank and a row of each neighbour."""

    def __init__(self, mesh, rows, columns):
        self.mesh = mesh
        self.rank = mesh.get_local_rank("strip")
        self.size = mesh.size()
        g = torch.Generator().manual_seed(self.rank)
        self.speed = torch.zeros(rows + 2, columns)
        self.wind = 0.02 * torch.randn(rows, columns, generator=g)

    def exchange(self):
        above, below = self.rank - 1, self.rank + 1
        operations = []
        if above >= 0:
            operations.append(dist.P2POp(dist.isend, self.speed[1].clone(), above))
            first = torch.empty_like(self.speed[0])
            operations.append(dist.P2POp(dist.irecv, first, above))
        if below < self.size:
            operations.append(dist.P2POp(dist.isend, self.speed[-2].clone(), below))
            last = torch.empty_like(self.speed[-1])
            operations.append(dist.P2POp(dist.irecv, last, below))
        for work in dist.batch_isend_irecv(operations):
            work.wait()
        if above >= 0:
            self.speed[0] = first
        if below < self.size:
            self.speed[-1] = last

    def sweep(self, inflow):
        """One sweep of Jacobi over the strip; returns the largest change."""
        self.exchange()
        s = self.speed
        around = (s[:-2] + s[2:] + s[1:-1].roll(1, 1) + s[1:-1].roll(-1, 1)) / 4
        new = 0.9 * around + self.wind
        new[:, 0] += inflow
        change = (new - s[1:-1]).abs().max().item()
        s[1:-1] = new
        return change

    def relax(self, inflow, tolerance, least=3, most=12):
        for count in range(1, most + 1):
            change = self.sweep(inflow)
            if count >= least and change < tolerance:
                break
        return count


def inflow(rank, hour, storm):
    """Water from the river at the middle strip; `storm` is the hour of the flood."""
    if rank != 1:
        return 0.0
    return 0.05 + (0.8 if hour == storm else 0.0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=12)
    parser.add_argument("--columns", type=int, default=16)
    parser.add_argument("--hours", type=int, default=300)
    parser.add_argument("--storm", type=int, default=140)
    parser.add_argument("--tolerance", type=float, default=0.2)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("strip",))
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
    network = distribute_module(network, mesh)
    optimizer = torch.optim.Adam(network.parameters(), lr=args.lr)
    strip = Strip(mesh, args.rows, args.columns)
    for hour in range(args.hours):
        sweeps = strip.relax(inflow(strip.rank, hour, args.storm), args.tolerance)
        s = strip.speed
        features = torch.stack([s[:-2], s[1:-1], s[2:]], dim=-1).flatten(0, 1)
        measured = (s[1:-1].flatten() * 1.1 + 0.02 * torch.sin(torch.tensor(hour / 10.0)))[:, None]
        x = DTensor.from_local(features, mesh, [Shard(0)], run_check=False)
        y = DTensor.from_local(measured, mesh, [Shard(0)], run_check=False)
        loss = (network(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        for parameter in network.parameters():
            parameter.grad = parameter.grad.redistribute(mesh, [Replicate()])
        optimizer.step()
        time.sleep(0.02)
        if hour % 20 == 0:
            value = loss.full_tensor().item()
            if strip.rank == 0:
                print(f"hour {hour}: {value:.5f} ({sweeps} sweeps)", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
