"""A kite on a line in gusty wind: keep it high without tearing the line."""
import dataclasses

import torch


@dataclasses.dataclass
class Site:
    """Where a kite is flown. `storm` are the rounds with strong wind, in which a flight soon ends."""

    gust: float = 0.15
    storm: range = range(0)


SITES = (Site(), Site(gust=0.18, storm=range(22, 26)), Site(gust=0.12), Site(gust=0.2))


class Kite:
    """State: height, speed, tension of the line, wind. Actions: reel in, hold, let out."""

    LONGEST = 48

    def __init__(self, site, seed):
        self.site = site
        self.generator = torch.Generator().manual_seed(seed)
        self.reset()

    def reset(self):
        self.state = torch.tensor([0.4, 0.0, 0.3, 0.5])
        self.age = 0
        return self.state.clone()

    def noise(self):
        return torch.randn(1, generator=self.generator).item() * self.site.gust

    def step(self, action, round_number):
        height, speed, tension, wind = self.state.tolist()
        blow = 0.9 if round_number in self.site.storm else 0.0
        wind = 0.8 * wind + 0.1 + self.noise() * 0.3 + blow
        pull = (-0.2, 0.0, 0.2)[action]
        tension = min(max(0.7 * tension + 0.2 * wind - 0.4 * pull, 0.0), 2.0)
        speed = 0.8 * speed + 0.05 * (tension - 0.3)
        height = min(max(height + speed, 0.0), 1.0)
        self.state = torch.tensor([height, speed, tension, wind])
        self.age += 1
        torn = blow > 0 and self.age >= 5
        return self.state.clone(), height - 0.2 * tension, torn or self.age >= self.LONGEST
