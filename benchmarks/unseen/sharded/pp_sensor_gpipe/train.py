"""Sensor-event classifier over three pipeline stages (GPipe schedule).

The first stage reads the measurements, the last one the labels; both walk the
data in the same order.
"""
import math
import time

import torch
import torch.nn as nn
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.utils.data import DataLoader, TensorDataset

SAMPLES, FEATURES, CLASSES = 250, 12, 4
WIDTH = 32
BATCH, MICROBATCHES, EPOCHS = 8, 4, 3


def events():
    g = torch.Generator().manual_seed(31)
    x = torch.randn(SAMPLES, FEATURES, generator=g)
    return x, x[:, :CLASSES].argmax(1)


def stage_module(index: int) -> nn.Module:
    torch.manual_seed(index)
    if index == 0:
        return nn.Sequential(nn.Linear(FEATURES, WIDTH), nn.ReLU())
    if index == 1:
        return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())
    return nn.Linear(WIDTH, CLASSES)


def loader(tensor: torch.Tensor) -> DataLoader:
    # the schedule needs full batches
    return DataLoader(TensorDataset(tensor), batch_size=BATCH, drop_last=True)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    module = stage_module(rank)
    stage = PipelineStage(module, rank, world, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, MICROBATCHES, loss_fn=nn.functional.cross_entropy)
    optim = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
    measurements, labels = events()

    def update():
        optim.step()
        optim.zero_grad()
        time.sleep(0.01)

    for epoch in range(EPOCHS):
        module.train()
        total = torch.zeros(1)
        if stage.is_first:
            for (x,) in loader(measurements):
                schedule.step(x)
                update()
        elif stage.is_last:
            batches = loader(labels)
            for (y,) in batches:
                losses = []
                schedule.step(target=y, losses=losses)
                total += torch.stack(losses).mean().detach() / len(batches)
                update()
        else:
            for _ in range(math.ceil(SAMPLES / BATCH)):
                schedule.step()
                update()
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch}: loss {total.item():.4f}", flush=True)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
