"""The model in stages and what each stage does with a drawer."""

import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

from slides import STRIP


def build(rank, stages, width):
    if rank == 0:
        return nn.Sequential(nn.Linear(STRIP, width), nn.GELU())
    if rank == stages - 1:
        return nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1))
    return nn.Sequential(nn.Linear(width, width), nn.GELU())


class StageRunner:
    def __init__(self, rank, stages, width, microbatches, lr):
        self.first, self.last = rank == 0, rank == stages - 1
        module = build(rank, stages, width)
        self.optimizer = torch.optim.SGD(module.parameters(), lr=lr)
        stage = PipelineStage(module, rank, stages, torch.device("cpu"))
        self.schedule = ScheduleGPipe(stage, microbatches, loss_fn=nn.functional.mse_loss)

    def run(self, cabinet, drawer):
        if self.first:
            return self.feed(cabinet.pictures(drawer))
        if self.last:
            return self.judge(cabinet.depths(drawer))
        return self.relay(cabinet.batches)

    def feed(self, pictures):
        for strips in pictures:
            time.sleep(0.02)  # the scanner moves on
            if not torch.isfinite(strips).all():
                continue  # a fogged slide would spoil the weights of all stages
            self.optimizer.zero_grad()
            self.schedule.step(strips)
            self.optimizer.step()
        return float("nan")

    def relay(self, batches):
        for _ in range(batches):
            self.optimizer.zero_grad()
            self.schedule.step()
            self.optimizer.step()
        return float("nan")

    def judge(self, depths):
        means = []
        for depth in depths:
            losses = []
            self.optimizer.zero_grad()
            self.schedule.step(target=depth, losses=losses)
            self.optimizer.step()
            means.append(torch.stack(losses).mean().item())
        return sum(means) / len(means)


def share(value, source):
    """The value of one process, on all."""
    holder = torch.tensor([value])
    dist.broadcast(holder, src=source)
    return holder.item()
