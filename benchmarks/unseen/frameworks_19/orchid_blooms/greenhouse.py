import torch
from torch.utils.data import Dataset

CLIMATE = 18
SHARE_OF_LATE = (0.05, 0.4)


class Greenhouse(Dataset):
    """Orchids of one house: the climate in spring, the day of the first bloom, and whether the variety is a late one."""

    def __init__(self, house, count):
        g = torch.Generator().manual_seed(40 + house)
        rule = torch.randn(CLIMATE, generator=torch.Generator().manual_seed(0)) / CLIMATE**0.5
        self.climate = torch.randn(count, CLIMATE, generator=g)
        self.late = torch.rand(count, generator=g) < SHARE_OF_LATE[house]
        self.day = self.climate @ rule + 0.8 * self.late + 0.1 * torch.randn(count, generator=g)

    def __len__(self):
        return len(self.day)

    def __getitem__(self, i):
        return i, self.climate[i], self.day[i], self.late[i]


def calendar(day):
    """A day of the first bloom as a gardener says it: so many weeks before or after the mean."""
    weeks = abs(round(day * 3))
    if weeks == 0:
        return "on time"
    return f"{weeks} week{'s' if weeks > 1 else ''} {'late' if day > 0 else 'early'}"


def described(house):
    """How many orchids there are, and what the varieties are like on average."""
    early = house.day[~house.late].mean().item()
    late = house.day[house.late].mean().item()
    return (
        f"{len(house)} orchids, {int(house.late.sum())} of a late variety; "
        f"the early ones bloom {calendar(early)}, the late ones {calendar(late)}"
    )
