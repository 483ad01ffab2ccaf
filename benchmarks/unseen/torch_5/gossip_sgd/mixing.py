import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class PairwiseMixer:
    """Averages a model with the one of its partner, by blocking messages.

    The lower rank of a pair talks first.
    """

    def __init__(self, module, schedule):
        self.module = module
        self.schedule = schedule
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        self.inbox = torch.empty_like(parameters_to_vector(module.parameters()).detach())

    @torch.no_grad()
    def mix(self, number):
        other = self.schedule.partner(self.rank, self.world, number)
        mine = parameters_to_vector(self.module.parameters())
        turns = [self.talk, self.listen] if self.rank < other else [self.listen, self.talk]
        for turn in turns:
            turn(mine, other)
        vector_to_parameters((mine + self.inbox) / 2, self.module.parameters())

    def talk(self, mine, other):
        dist.send(mine, dst=other)

    def listen(self, mine, other):
        dist.recv(self.inbox, src=other)
