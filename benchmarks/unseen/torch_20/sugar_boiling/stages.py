"""The three stages of the network, and how a process passes tensors to its neighbours."""
import torch
import torch.distributed as dist
from torch import nn

WIDTH = 24


class Link:
    """Blocking transfers of tensors of one shape to the next stage and back."""

    def __init__(self, shape):
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.shape = shape

    @property
    def first(self):
        return self.rank == 0

    @property
    def last(self):
        return self.rank == self.world - 1

    def forward_in(self):
        x = torch.empty(self.shape)
        dist.recv(x, src=self.rank - 1)
        return x

    def forward_out(self, x):
        dist.send(x.detach(), dst=self.rank + 1)

    def backward_in(self):
        gradient = torch.empty(self.shape)
        dist.recv(gradient, src=self.rank + 1)
        return gradient

    def backward_out(self, gradient):
        dist.send(gradient, dst=self.rank - 1)


class Entry(nn.Module):
    """Embeds readings; the last column says whether the row is a boiling pan (1) or a pan that is being rinsed (0)."""

    def __init__(self, inputs):
        super().__init__()
        self.layer = nn.Linear(inputs, WIDTH)

    def forward(self, readings):
        active = readings[:, -1:]
        return torch.cat([torch.tanh(self.layer(readings[:, :-1])) * active, active], 1)


class Middle(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh())

    def forward(self, x):
        return torch.cat([self.layers(x[:, :-1]) * x[:, -1:], x[:, -1:]], 1)


class Exit(nn.Module):
    """Brix of the pans that boil."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(WIDTH, 1)

    def forward(self, x):
        return self.layer(x[:, :-1]).squeeze(1) * x[:, -1]


def build(rank, world, inputs):
    if rank == 0:
        return Entry(inputs)
    return Exit() if rank == world - 1 else Middle()
