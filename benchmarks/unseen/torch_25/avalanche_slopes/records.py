"""Days of a warning region: snow pack, weather and the number of avalanches that were seen."""
import torch

LEVELS = ("low", "moderate", "considerable", "high")
MEASURES = 7


class Winter:
    """Training days in any order, and weeks that are held out, one after the other."""

    def __init__(self, region, days, seed):
        self.region = region
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(days, MEASURES, generator=g)
        self.y = self.respond(self.x) + 0.1 * torch.randn(days, generator=g)
        self.generator = g
        self.seed = seed

    @staticmethod
    def respond(x):
        return torch.relu(x[:, 0] + 0.5 * x[:, 1] * x[:, 2]) + 0.3 * torch.sin(2 * x[:, 3])

    def batches(self, size):
        order = torch.randperm(len(self.x), generator=self.generator)
        for pick in order.split(size):
            if len(pick) == size:
                yield self.x[pick], self.y[pick]

    def week(self, number, bulletins=48):
        """The bulletins of a held-out week: measures, avalanches, level of danger."""
        g = torch.Generator().manual_seed(self.seed * 1000 + number)
        x = torch.randn(bulletins, MEASURES, generator=g)
        level = torch.arange(bulletins) % len(LEVELS)
        if self.region == "south" and number >= 3:
            # a warm spring: the southern slopes are bare early
            level = level.clamp(max=LEVELS.index("considerable"))
        x[:, 0] += 0.4 * level
        return x, self.respond(x) + 0.1 * torch.randn(bulletins, generator=g), level

    def __len__(self):
        return len(self.x)
