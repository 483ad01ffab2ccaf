"""Population based training: each process trains a member, and the weakest one takes over the best one's weights."""
import torch
import torch.distributed as dist


class Standings:
    """Errors of all members: exchanged in every round while they change quickly, later once in a generation."""

    def __init__(self, settled, exchange_every):
        self.settled = settled
        self.exchange_every = exchange_every
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.errors = [float("inf")] * self.world
        self.round = 0

    def record(self, error):
        if self.round < self.settled or self.round % self.exchange_every == 0:
            table = [torch.zeros(1) for _ in range(self.world)]
            dist.all_gather(table, torch.tensor([error]))
            self.errors = [entry.item() for entry in table]
        else:
            self.errors[self.rank] = min(error, self.errors[self.rank])
        self.round += 1

    def leader(self):
        return min(range(self.world), key=self.errors.__getitem__)


class Member:
    def __init__(self, model, optimizer, settled, generation):
        self.model = model
        self.optimizer = optimizer
        self.standings = Standings(settled, exchange_every=generation)
        self.best = None

    def show(self):
        """The leader's first-layer filters, for everybody's distillation term."""
        filters = self.model[0].weight.detach().clone()
        dist.broadcast(filters, src=self.standings.leader())
        self.best = filters

    def end_round(self, error):
        self.standings.record(error)
        self.show()
        return self.standings.leader()
