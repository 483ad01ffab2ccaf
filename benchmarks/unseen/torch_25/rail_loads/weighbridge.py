"""Weights of freight wagons as weighbridges report them, quarter of an hour by quarter of an hour."""
import random
from dataclasses import dataclass

YARDS = ("junction", "quay", "mine")


@dataclass
class Wagon:
    tonnes: float
    axles: int
    loaded: bool


class Weighbridge:
    def __init__(self, yard, seed):
        self.yard = yard
        self.rng = random.Random(seed)
        self.calls = 0

    def traffic(self, quarter):
        """Number of wagons; the quay has none that are loaded while no ship is in."""
        if self.yard == "quay" and quarter in (61, 62):
            return 5, 0.0
        return self.rng.randint(8, 20), 0.7

    def quarter(self, number):
        count, loaded_share = self.traffic(number)
        wagons = []
        for _ in range(count):
            loaded = self.rng.random() < loaded_share
            axles = self.rng.choice((2, 4, 4, 6))
            tonnes = axles * (self.rng.uniform(9, 20) if loaded else self.rng.uniform(5, 6))
            wagons.append(Wagon(round(tonnes, 1), axles, loaded))
        if loaded_share > 0 and not any(wagon.loaded for wagon in wagons):
            wagons[0].loaded = True
        return wagons

    def __repr__(self):
        return f"Weighbridge({self.yard!r})"
