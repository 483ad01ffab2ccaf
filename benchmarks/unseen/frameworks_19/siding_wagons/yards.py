import torch
from torch.utils.data import Dataset

SIGNS = 16
# which yards have wires over their sidings
WIRED = {"North": True, "Harbour": True, "Mill": True, "Quarry": False}


class Wagons(Dataset):
    """Wagons of all yards in the order of arrival: their signs, and how long they will stand on the siding."""

    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        rule = torch.randn(SIGNS, generator=torch.Generator().manual_seed(0)) / SIGNS**0.5
        self.signs = torch.randn(count, SIGNS, generator=g)
        self.hours = self.signs @ rule + 0.2 * torch.randn(count, generator=g)

    def __len__(self):
        return len(self.hours)

    def __getitem__(self, i):
        return self.signs[i], self.hours[i]


class Wires:
    """The load of the wires of a yard: what its electric wagons draw while they are heated, in kilowatts."""

    def __init__(self, yard, seed=0):
        self.yard = yard
        self.g = torch.Generator().manual_seed(1000 + seed + sum(map(ord, yard)))

    @property
    def up(self):
        return WIRED[self.yard]

    def load(self):
        """One reading; a yard without wires draws nothing."""
        if not self.up:
            return torch.zeros(())
        return 40 + 12 * torch.rand((), generator=self.g)


def yard_of(rank):
    return list(WIRED)[rank]
