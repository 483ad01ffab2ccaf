"""A gondola that has to cross the lagoon; the wind of the day comes from the harbour's log."""
import random
import time

DRIFT = {"calm": 0.0, "sirocco": 0.2, "maestral": -0.2}
LOGS = {0: ["calm", "sirocco"], 1: ["calm", "maestral"], 2: ["sirocco", "maestral"]}


class Lagoon:
    def __init__(self, pier, seed):
        self.rng = random.Random(seed)
        self.log = LOGS[pier]
        self.pier = pier
        self.days = 0

    def reset(self):
        self.days += 1
        wind = self.rng.choice(self.log)
        if self.pier == 1 and self.days == 140:
            wind = "bora"                    # it does come once a winter
        self.push = DRIFT[wind]
        self.x = self.rng.uniform(-1, 1)
        return self.x, self.push

    def step(self, stroke):
        time.sleep(0.003)
        self.x += 0.3 * stroke + self.push
        return (self.x, self.push), -abs(self.x)
