"""Weights that go round the processes of a ring, from each to its right neighbour."""
import logging

import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters

log = logging.getLogger("ring")


class Ring:
    """send() and recv() wait for the other side, so one member opens a round by sending first.

    The member that opens changes from round to round, so that none is always the last to get its weights.
    """

    def __init__(self, order):
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.left = (self.rank - 1) % self.world
        self.right = (self.rank + 1) % self.world
        self.order = list(order)
        self.round = 0

    def opener(self):
        return self.order[self.round % len(self.order)]

    def exchange(self, packed):
        arrived = torch.empty_like(packed)
        if self.rank == self.opener():
            dist.send(packed, dst=self.right)
            dist.recv(arrived, src=self.left)
        else:
            dist.recv(arrived, self.left)
            dist.send(packed, self.right)
        self.round += 1
        return arrived

    def rotate(self, model, share=1.0):
        """Replace the weights (or mix them in, with a smaller share) by those of the left neighbour."""
        own = parameters_to_vector(model.parameters()).detach()
        arrived = self.exchange(own.contiguous())
        vector_to_parameters(share * arrived + (1.0 - share) * own, model.parameters())
        log.debug("round %d done on %d", self.round, self.rank)
