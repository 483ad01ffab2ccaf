import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

import gauges

DAYS = 60


def part(index):
    torch.manual_seed(index)
    return (
        nn.Sequential(nn.Linear(12, 32), nn.ReLU()),
        nn.Sequential(nn.Linear(32, 32), nn.ReLU()),
        nn.Linear(32, 1),
    )[index]


class Stage:
    def __init__(self, rank, world):
        self.rank, self.last = rank, world - 1
        self.module = part(rank)
        stage = PipelineStage(self.module, rank, world, torch.device("cpu"))
        self.schedule = ScheduleGPipe(stage, n_microbatches=4, loss_fn=nn.functional.mse_loss)
        self.optim = torch.optim.SGD(self.module.parameters(), lr=0.01)
        self.losses = []

    def stream(self):
        if self.rank == 0:
            return gauges.readings(DAYS)
        if self.rank == self.last:
            return gauges.levels(DAYS)
        return range(DAYS)

    def step(self, item):
        self.optim.zero_grad()
        if self.rank == 0:
            self.schedule.step(item)
        elif self.rank == self.last:
            self.losses = []
            self.schedule.step(target=item, losses=self.losses)
        else:
            self.schedule.step()
        self.optim.step()


def main():
    dist.init_process_group("gloo")
    stage = Stage(dist.get_rank(), dist.get_world_size())
    for n, item in enumerate(stage.stream()):
        stage.step(item)
        time.sleep(0.02)
        if stage.losses and n % 10 == 0:
            print(n, torch.stack(stage.losses).mean().item(), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
