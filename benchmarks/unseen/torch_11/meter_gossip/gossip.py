"""Averaging of parameters between neighbours instead of between all."""

import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class ExponentialGossip:
    """In round r every rank averages with the rank 2**r further on, until all have been reached; then from the start."""

    def __init__(self, model):
        self.model = model
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        self.shifts = [2**k for k in range((self.world - 1).bit_length())]
        self.round = 0

    def exchange(self, mine, target, source):
        theirs = torch.empty_like(mine)
        if self.rank % 2 == 0:
            dist.send(mine, dst=target)
            dist.recv(theirs, src=source)
        else:
            dist.recv(theirs, src=source)
            dist.send(mine, dst=target)
        return theirs

    @torch.no_grad()
    def mix(self):
        shift = self.shifts[self.round % len(self.shifts)]
        target = (self.rank + shift) % self.world
        source = (self.rank - shift) % self.world
        mine = parameters_to_vector(self.model.parameters())
        theirs = self.exchange(mine, target, source)
        vector_to_parameters((mine + theirs) / 2, self.model.parameters())
        self.round += 1
