"""Stations of a river share models within their basins; stations between two basins belong to both."""
import torch
import torch.distributed as dist

BASINS = {"upper": (0, 1, 2), "lower": (1, 2, 3)}


class Basins:
    def __init__(self):
        rank = dist.get_rank()
        groups = {name: dist.new_group(list(members)) for name, members in BASINS.items()}
        self.own = {name: groups[name] for name, members in BASINS.items() if rank in members}

    def __len__(self):
        return len(self.own)

    def order(self, levels):
        """The basin with more water comes first: its stations are waiting for news."""
        return sorted(self.own, key=levels.__getitem__, reverse=True)

    @torch.no_grad()
    def share(self, model, levels):
        """Averages the model within each of the station's basins."""
        vector = torch.nn.utils.parameters_to_vector(model.parameters())
        for name in self.order(levels):
            group = self.own[name]
            dist.all_reduce(vector, group=group)
            vector /= len(BASINS[name])
        torch.nn.utils.vector_to_parameters(vector, model.parameters())


class Levels:
    """Smoothed water levels of the basins as a station reads them."""

    def __init__(self, inertia=0.5):
        self.inertia = inertia
        self.levels = {"upper": 3.0, "lower": 2.0}

    def read(self, upper, lower):
        for name, value in (("upper", upper), ("lower", lower)):
            self.levels[name] = self.inertia * self.levels[name] + (1 - self.inertia) * value
        return self.levels
