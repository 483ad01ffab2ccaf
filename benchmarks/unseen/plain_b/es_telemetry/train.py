"""Evolution strategies (Salimans et al. 2017) with shared noise seeds.

Only fitness values travel; every rank rebuilds the perturbations of all the others.
"""
import os
import time

import torch
import torch.distributed as dist

from telemetry import Telemetry

GENERATIONS = 45
PAIRS = 4          # antithetic pairs per rank
SIGMA, ALPHA = 0.1, 0.05
SHAPES = [(5, 12), (12,), (12, 2), (2,)]
SIZE = sum(int(torch.Size(s).numel()) for s in SHAPES)


def act(theta, obs):
    at, parts = 0, []
    for s in SHAPES:
        n = torch.Size(s).numel()
        parts.append(theta[at:at + n].view(s))
        at += n
    return torch.tanh(torch.tanh(obs @ parts[0] + parts[1]) @ parts[2] + parts[3])


def episode(theta, gen):
    """A point mass that should come to rest at the origin."""
    pos, vel, total = torch.randn(8, 2, generator=gen), torch.zeros(8, 2), 0.0
    for t in range(15):
        obs = torch.cat([pos, vel, torch.full((8, 1), t / 15)], dim=1)
        vel = 0.9 * vel + 0.2 * act(theta, obs)
        pos = pos + vel
        total -= pos.pow(2).sum(1).mean().item()
    return total


def noise(generation, rank, pair):
    g = torch.Generator().manual_seed((generation * 64 + rank) * 64 + pair)
    return torch.randn(SIZE, generator=g)


def evolve(telemetry):
    rank, world = dist.get_rank(), dist.get_world_size()
    theta = torch.zeros(SIZE)
    for generation in range(GENERATIONS):
        start = time.perf_counter()
        gen = torch.Generator().manual_seed(generation)
        mine = torch.tensor([[episode(theta + s * SIGMA * noise(generation, rank, k), gen) for s in (1, -1)]
                             for k in range(PAIRS)])
        everyone = [torch.empty_like(mine) for _ in range(world)]
        dist.all_gather(everyone, mine)
        fitness = torch.stack(everyone)
        fitness = (fitness - fitness.mean()) / (fitness.std() + 1e-6)
        step = sum((fitness[r, k, 0] - fitness[r, k, 1]) * noise(generation, r, k)
                   for r in range(world) for k in range(PAIRS))
        theta = theta + ALPHA * step / (2 * world * PAIRS * SIGMA)
        telemetry.row(generation=generation, fitness=round(mine.mean().item(), 4),
                      seconds=round(time.perf_counter() - start, 4))
    return theta


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    folder = os.environ.get("ES_OUT", "/tmp/es_out")
    os.makedirs(folder, exist_ok=True)
    telemetry = Telemetry(os.path.join(folder, f"rank{rank}.csv"))
    theta = evolve(telemetry)
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        torch.save(theta, os.path.join(folder, "theta.pt"))
        telemetry.close()
        print("written to", folder, flush=True)


if __name__ == "__main__":
    main()
