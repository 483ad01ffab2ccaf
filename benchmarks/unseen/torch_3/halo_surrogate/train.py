import argparse
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from ocean.domain import HaloExchange, Slab
from ocean.surrogate import ClosureNet, diffuse

# (name, number of steps, are the x boundaries periodic)
SCENARIOS = [("spin-up", 12, False), ("walls", 14, False), ("re-entrant", 30, True)]


def simulate(slab, exchange, model, optimizer, steps, field):
    for step in range(steps):
        exchange(field)
        with torch.no_grad():
            fine = diffuse(diffuse(field, 0.06), 0.06)
            coarse = diffuse(field)
        target = (fine - coarse)[1:-1]
        loss = ((model(field)[1:-1] - target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        field = coarse
        time.sleep(0.02)
        if step % 6 == 0 and slab.rank == 0:
            print(f"  step {step:3d} closure loss {loss.item():.5f}", flush=True)
    return field


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(args.seed)
    slab = Slab(dist.get_rank(), dist.get_world_size())
    exchange = HaloExchange(slab)
    model = DDP(ClosureNet())
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    field = slab.allocate(args.seed)
    for name, steps, periodic in SCENARIOS:
        slab.periodic = periodic
        if slab.rank == 0:
            print(f"scenario {name}: {steps} steps", flush=True)
        field = simulate(slab, exchange, model, optimizer, steps, field)
    mass = field[1:-1].sum()
    dist.all_reduce(mass)
    if slab.rank == 0:
        print(f"total mass {mass.item():.2f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
