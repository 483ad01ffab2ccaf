import torch
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

from marks import KILNS


def build_stage(rank, world, width=32):
    layers = nn.Sequential(nn.Linear(48 if rank == 0 else width, width), nn.Tanh())
    if rank == world - 1:
        layers.append(nn.Linear(width, KILNS))
    return layers


def make_schedule(module, rank, world, microbatches):
    stage = PipelineStage(module, rank, world, torch.device("cpu"))
    return ScheduleGPipe(stage, n_microbatches=microbatches, loss_fn=nn.CrossEntropyLoss())
