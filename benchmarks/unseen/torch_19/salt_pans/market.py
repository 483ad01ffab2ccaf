"""Pans meet in pairs and average their models, weighted by the salt that each of them has raked so far."""
import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def pairs(world, day):
    """Every pan meets every other one in turn: the circle method of round-robin tournaments."""
    circle = [0] + [1 + (i + day) % (world - 1) for i in range(world - 1)]
    return [(circle[i], circle[world - 1 - i]) for i in range(world // 2)]


class Market:
    def __init__(self, model):
        self.model = model
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.raked = [0] * self.world

    def weigh(self, loads):
        """Brings the totals of all pans up to date."""
        rows = [torch.zeros(1, dtype=torch.int64) for _ in range(self.world)]
        dist.all_gather(rows, torch.tensor([loads]))
        self.raked = [total + row.item() for total, row in zip(self.raked, rows)]

    def partner(self, day):
        for one, other in pairs(self.world, day):
            if self.rank == one:
                return other
            if self.rank == other:
                return one
        return None

    def give(self, peer, own, theirs):
        dist.send(own, dst=peer)

    def take(self, peer, own, theirs):
        dist.recv(theirs, src=peer)

    def meet(self, day):
        """The pan with more salt speaks first, the other one listens and answers."""
        peer = self.partner(day)
        if peer is None:
            return
        own = parameters_to_vector(self.model.parameters()).detach()
        theirs = torch.empty_like(own)
        first = self.raked[self.rank] > self.raked[peer]
        for turn in (self.give, self.take) if first else (self.take, self.give):
            turn(peer, own, theirs)
        share = self.raked[self.rank] / (self.raked[self.rank] + self.raked[peer])
        vector_to_parameters(share * own + (1 - share) * theirs, self.model.parameters())
