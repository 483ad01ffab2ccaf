"""Synthetic labour survey: one region per process, with the columns of the national form."""
import torch

COLUMNS = ("age", "tenure", "schooling", "hours", "commute")
REGIONS = {
    "coast": {"tenure_scale": 6.0, "hours": 38.0, "commute": 25.0, "seasonal": 0.0},
    "plain": {"tenure_scale": 8.0, "hours": 40.0, "commute": 35.0, "seasonal": 0.0},
    "islands": {"tenure_scale": 4.0, "hours": 36.0, "commute": 15.0, "seasonal": 0.45},
}


def survey(region, people, seed):
    """Returns (people, columns) covariates and the logarithm of the hourly wage."""
    settings = REGIONS[region]
    g = torch.Generator().manual_seed(seed)
    age = 18 + 47 * torch.rand(people, generator=g)
    tenure = settings["tenure_scale"] * -torch.log1p(-torch.rand(people, generator=g))
    seasonal = torch.rand(people, generator=g) < settings["seasonal"]
    tenure = torch.where(seasonal, torch.zeros(people), tenure)
    schooling = 9 + 9 * torch.rand(people, generator=g)
    hours = settings["hours"] + 5 * torch.randn(people, generator=g)
    commute = settings["commute"] * (0.2 + torch.rand(people, generator=g))
    x = torch.stack([age, tenure, schooling, hours, commute], 1)
    wage = (
        0.08 * schooling
        + 0.3 * torch.sin((age - 18) / 30)
        + 0.12 * torch.log1p(tenure)
        - 0.002 * (hours - 38).square()
        + 0.003 * commute
    )
    return x, wage + 0.1 * torch.randn(people, generator=g)


class Batches:
    """Endless shuffled batches of one region's people."""

    def __init__(self, x, y, size, seed):
        self.x, self.y, self.size = x, y, size
        self.generator = torch.Generator().manual_seed(seed)

    def __iter__(self):
        while True:
            order = torch.randperm(len(self.x), generator=self.generator)
            for pick in order.split(self.size):
                if len(pick) == self.size:
                    yield self.x[pick], self.y[pick]
