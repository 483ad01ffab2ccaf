"""What the processes give each other after a day: the fox of all, and the hares of each."""
import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class Exchange:
    """There is one fox for all meadows, the mean of what they have learned. The hares of every meadow stay
    their own, and all meadows get to know them."""

    def __init__(self, fox, hare):
        self.fox = fox
        self.hare = hare
        self.strangers = []
        # what is done for a species when its turn comes
        self.handlers = {"fox": self.average_foxes, "hare": self.collect_hares}

    @torch.no_grad()
    def average_foxes(self):
        """Every process goes on with the mean fox."""
        vector = parameters_to_vector(self.fox.parameters())
        dist.all_reduce(vector)
        vector_to_parameters(vector / dist.get_world_size(), self.fox.parameters())

    @torch.no_grad()
    def collect_hares(self):
        """The hares of all meadows, as vectors, for chases with strangers."""
        own = parameters_to_vector(self.hare.parameters())
        warrens = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(warrens, own)
        self.strangers = warrens

    def order(self, caught):
        """The loser of the day comes first: it has most to gain from what the others know."""
        return ("hare", "fox") if caught > 0.5 else ("fox", "hare")

    def after_day(self, caught):
        """Both exchanges take place every day; `caught` is the share of the chases that ended with a catch."""
        for species in self.order(caught):
            self.handlers[species]()
