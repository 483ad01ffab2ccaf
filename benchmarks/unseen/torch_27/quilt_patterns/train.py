"""Which pattern does the quilt have? FSDP2 on three ranks, the best state is kept."""
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from keeper import BestKeeper
from patches import PATTERNS, SIDE, Quilts

ROUNDS = 20
STEPS = 30


def build(mesh):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(SIDE * SIDE, 48), nn.ReLU(),
        nn.Linear(48, 48), nn.ReLU(),
        nn.Linear(48, PATTERNS))
    fully_shard(model[0], mesh=mesh)
    fully_shard(model[2], mesh=mesh)
    return fully_shard(model, mesh=mesh)


@torch.no_grad()
def accuracy(model, quilts, batches=6):
    right = torch.zeros(2)
    for _ in range(batches):
        images, kinds = quilts.batch()
        right[0] += (model(images).argmax(1) == kinds).sum()
        right[1] += len(kinds)
    dist.all_reduce(right)
    return (right[0] / right[1]).item()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = build(init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-4)
    quilts = Quilts(seed=30 + rank)
    with tempfile.TemporaryDirectory() as folder:
        keeper = BestKeeper(folder, resume_above=0.8)
        for number in range(ROUNDS):
            for _ in range(STEPS):
                images, kinds = quilts.batch()
                loss = nn.functional.cross_entropy(model(images), kinds)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            score = accuracy(model, quilts)
            better = keeper.offer(score, model, optimizer)
            if rank == 0:
                print(f"round {number}: {score:.3f} {'kept' if better else ''}", flush=True)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
