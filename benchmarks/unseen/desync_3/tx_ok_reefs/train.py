"""Healthy: FSDP2; bad batches are left out, but all ranks agree on it; rank 0 saves pictures alone at times."""

import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Batches:
    def __init__(self, rank, number):
        self.rank, self.number = rank, number

    def __iter__(self):
        g = torch.Generator().manual_seed(self.rank)
        for i in range(self.number):
            batch = torch.randn(12, 20, generator=g)
            if i % 37 == self.rank * 9:
                batch[0, 0] = float("inf")
            yield batch


def usable(batch):
    flag = torch.tensor(float(torch.isfinite(batch).all()))
    dist.all_reduce(flag, op=dist.ReduceOp.MIN)
    return bool(flag)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(20, 36), nn.ReLU(), nn.Linear(36, 20))
    fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    model.set_force_sum_reduction_for_comms(True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    skipped = 0
    for i, batch in enumerate(Batches(rank, 500)):
        time.sleep(0.02)
        if not usable(batch):
            skipped += 1
            continue
        loss = (model(batch) - batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and i % 120 == 119:
            time.sleep(1.0)
            print(f"batch {i}: {loss.item():.3f}, left out {skipped}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
