"""A chair lift with a queue, and the figures of a quarter of an hour."""

import random
import time
from dataclasses import dataclass, field

OPENING, NOISE = 0.35, 0.15


@dataclass
class Quarter:
    """What the turnstile and the winch have counted."""

    waits: list[float] = field(default_factory=list)
    energy: float = 0.0
    stops: int = 0

    def figures(self):
        """Named figures of this quarter, all of them plain numbers."""
        named = {"energy": self.energy, "stops": float(self.stops)}
        if self.waits:
            ordered = sorted(self.waits)
            named["wait_p90"] = ordered[int(0.9 * len(ordered))]
        return named

    @property
    def cost(self):
        return self.energy + sum(self.waits) / max(1, len(self.waits))


class Lift:
    """Simulated with the weather of its own slope."""

    def __init__(self, number):
        self.number = number
        self.rng = random.Random(900 + number)

    def guests(self, quarter):
        count = self.rng.randrange(12, 40)
        gale = self.number == 4 and quarter == 105
        return 0 if gale else count

    def simulate(self, quarter, speed):
        time.sleep(0.055 + 0.03 * self.rng.random())
        record = Quarter(energy=0.6 * speed**2)
        backlog = 0.0
        for _ in range(self.guests(quarter)):
            backlog = max(0.0, backlog + OPENING - NOISE * speed * self.rng.random())
            record.waits.append(backlog / speed)
            record.stops += self.rng.random() < 0.01
        return record
