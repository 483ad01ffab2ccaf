"""How much of a reef is bleached; FSDP2, one reef for each process."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader

from reefs import GRID, Reef, Reserve
from review import Review


def network(width):
    return nn.Sequential(nn.Linear(GRID, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1), nn.Sigmoid())


def held_out(count, batch):
    generator = torch.Generator().manual_seed(99)
    colours = torch.rand(count, batch, GRID, generator=generator)
    return [(c, (c > 0.6).float().mean(dim=1, keepdim=True)) for c in colours]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=int, default=2_560)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--width", type=int, default=30)
    parser.add_argument("--review-every", type=int, default=80)
    args = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(19)
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = network(args.width)
    review = Review(model, held_out(12, 16), args.review_every)
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    reserve = Reserve()
    loader = DataLoader(Reef(rank, args.pictures, 0.006), args.batch_size)
    for step, (colours, bleached) in enumerate(loader, 1):
        colours, bleached = reserve.checked(colours, bleached)
        loss = nn.functional.mse_loss(model(colours), bleached)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        review.maybe(step, model)
    dist.barrier()
    print(f"reef {rank}: {step} steps, {reserve.replaced} batches replaced", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
