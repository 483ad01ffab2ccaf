"""Two towers of the same shape, one for the drawing and one for the glaze of a tile."""

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

INPUTS = 24


def tower(mesh):
    net = nn.Sequential(nn.Linear(INPUTS, 36), nn.GELU(), nn.Linear(36, 6))
    return fully_shard(net, mesh=mesh)


class Learner:
    """A tower with its optimizer."""

    def __init__(self, name, mesh, lr):
        self.name = name
        self.net = tower(mesh)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=lr)
        self.seen = 0


def build(world, lr):
    mesh = init_device_mesh("cpu", (world,))
    return Learner("drawing", mesh, lr), Learner("glaze", mesh, lr)


def improve(learner, tiles, labels, legible):
    """A step on the tiles whose label could be read; the mean of the loss, if there is one."""
    if not legible.any():
        return None
    scores = learner.net(tiles[legible])
    loss = nn.functional.cross_entropy(scores, labels[legible])
    loss.backward()
    learner.optimizer.step()
    learner.optimizer.zero_grad()
    learner.seen += int(legible.sum())
    return loss.item()
