import random

import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class Gossip:
    """Averages the model with that of another process. The pairs are drawn anew each time, alike on all."""

    def __init__(self, model):
        self.model = model
        self.rank, self.world = dist.get_rank(), dist.get_world_size()

    def partner(self):
        order = list(range(self.world))
        random.shuffle(order)
        place = order.index(self.rank)
        return order[place ^ 1]

    @torch.no_grad()
    def exchange(self):
        other = self.partner()
        mine = parameters_to_vector(self.model.parameters())
        theirs = torch.empty_like(mine)
        sending = dist.isend(mine, other)
        dist.recv(theirs, other)
        sending.wait()
        vector_to_parameters((mine + theirs) / 2, self.model.parameters())
