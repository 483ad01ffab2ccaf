"""Energy-demand forecaster: FSDP2, snapshots with torch.distributed.checkpoint,
roll-back on a loss spike."""
import tempfile
import time
from collections import deque

import torch
import torch.nn as nn
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from snapshots import Snapshots

WINDOW, STEPS, SNAPSHOT_EVERY, SPIKE = 24, 140, 20, 8.0


def demand(rank):
    """Windows of hourly demand; the meter of hour 34 reports kWh in place of MWh."""
    g = torch.Generator().manual_seed(60 + rank)
    hour = 0
    while True:
        phase = torch.rand(8, 1, generator=g) * 6.28
        t = torch.arange(WINDOW + 1) * 0.26
        y = torch.sin(t + phase) + 0.05 * torch.randn(8, WINDOW + 1, generator=g)
        x, target = y[:, :-1], y[:, -1:]
        if hour == 34:
            target = target * 1000.0
        hour += 1
        yield x, target


class SpikeDetector:
    def __init__(self, factor, memory=10):
        self.factor, self.values = factor, deque(maxlen=memory)

    def __call__(self, value):
        usual = max(sum(self.values) / len(self.values), 0.2) if self.values else float("inf")
        spike = value > self.factor * usual
        if not spike:
            self.values.append(value)
        return spike


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    shared = [tempfile.mkdtemp(prefix="demand-") if rank == 0 else None]
    dist.broadcast_object_list(shared, src=0)

    mesh = init_device_mesh("cpu", (world,))
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(WINDOW, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 6))
    fully_shard(model[2], mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    snapshots = Snapshots(shared[0], model, optimizer)
    spiked = SpikeDetector(SPIKE)

    for step, (x, y) in zip(range(1, STEPS + 1), demand(rank)):
        loss = nn.functional.mse_loss(model(x).mean(1, keepdim=True), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

        mean = loss.detach().clone()
        dist.all_reduce(mean)
        mean = mean.item() / world
        if spiked(mean):
            if rank == 0:
                print(f"step {step}: loss {mean:.1f}, rolling back", flush=True)
            snapshots.roll_back()
        elif step % SNAPSHOT_EVERY == 0:
            snapshots.take(step)
        time.sleep(0.02)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
