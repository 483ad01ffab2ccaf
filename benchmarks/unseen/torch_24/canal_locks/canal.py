"""A flight of locks on a canal: boats arrive from both sides, and the keeper chooses which gates to work."""
import dataclasses

import torch

STATE, ACTIONS, HORIZON = 5, 3, 16


@dataclasses.dataclass
class Weather:
    """Arrival rates of the two sides; a drought closes the flight from time to time."""
    up: float
    down: float
    drought: tuple = ()


WEATHER = (Weather(0.0, 0.0), Weather(0.5, 0.3), Weather(0.3, 0.4, drought=(23,)), Weather(0.4, 0.4))


class Flight:
    def __init__(self, weather, seed):
        self.weather = weather
        self.g = torch.Generator().manual_seed(seed)
        self.day = 0

    def open_day(self):
        """A new day; on a day of drought nothing can be locked through and the day ends at once."""
        self.day += 1
        self.queues = torch.zeros(2)
        self.level, self.hour = 0.0, 0
        return self.day not in self.weather.drought

    def state(self):
        return torch.tensor([*self.queues.tolist(), self.level, self.hour / HORIZON, 1.0])

    def work(self, action):
        rates = torch.tensor([self.weather.up, self.weather.down])
        self.queues += (torch.rand(2, generator=self.g) < rates).float()
        moved = 0.0
        if action < 2:
            self.level = float(action)
            moved = min(1.0, self.queues[action].item())
            self.queues[action] -= moved
        self.hour += 1
        return moved - 0.05 * self.queues.sum().item(), self.hour >= HORIZON
