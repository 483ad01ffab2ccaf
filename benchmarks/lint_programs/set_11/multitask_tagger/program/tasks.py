import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F


class Task:
    """Rows and loss of one task."""

    def __init__(self, name, kind, outputs, rows, inputs, seed):
        self.name, self.kind, self.outputs = name, kind, outputs
        gen = torch.Generator().manual_seed(seed)
        truth = torch.randn(inputs, outputs, generator=gen)
        self.x = torch.randn(rows, inputs, generator=gen)
        score = self.x @ truth
        self.y = score.argmax(dim=1) if kind == "classify" else score

    def loss(self, out, y):
        return F.cross_entropy(out, y) if self.kind == "classify" else F.mse_loss(out, y)


class Tagger(nn.Module):
    def __init__(self, tasks, inputs, width):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.heads = nn.ModuleDict({t.name: nn.Linear(width, t.outputs) for t in tasks})

    def forward(self, name, x):
        return self.heads[name](self.trunk(x))


def batches(tasks, batch_size, seed, epoch):
    """This rank's batches of an epoch, each of one task, tasks in mixed order.

    Every rank gets the same number of batches of each task.
    """
    rank, world = dist.get_rank(), dist.get_world_size()
    plan = []
    for k, task in enumerate(tasks):
        gen = torch.Generator().manual_seed(seed * 7919 + epoch * 101 + k)
        order = torch.randperm(len(task.x), generator=gen)
        order = order[: len(order) // (world * batch_size) * world * batch_size]
        plan += [(task, rows) for rows in order[rank::world].split(batch_size)]
    random.Random(seed + 1000 * epoch + rank).shuffle(plan)
    for task, rows in plan:
        yield task, task.x[rows], task.y[rows]
