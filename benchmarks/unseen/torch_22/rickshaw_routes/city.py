"""A town as a grid in which rickshaws carry passengers; each process drives in its own town."""
import random

SIZE = 6


class StaleMap(Exception):
    """The town has changed its streets since the map was read."""


class Town:
    """Driving north, east, south or west costs time, more in streets with traffic. Towns may close streets for works."""

    def __init__(self, number, works_after):
        self.random = random.Random(70 + number)
        self.works_after = works_after
        self.rides = 0
        self.revision = 0
        self.read_map()

    def read_map(self):
        self.map_revision = self.revision
        self.cost = [[self.random.uniform(0.5, 1.5) for _ in range(SIZE)] for _ in range(SIZE)]

    def new_ride(self):
        self.rides += 1
        if self.works_after and self.rides % self.works_after == 0:
            self.revision += 1
        if self.map_revision != self.revision:
            raise StaleMap(f"map {self.map_revision}, town {self.revision}")
        self.place = [self.random.randrange(SIZE), self.random.randrange(SIZE)]
        self.goal = [self.random.randrange(SIZE), self.random.randrange(SIZE)]
        return self.view()

    def view(self):
        return [value / SIZE for value in self.place + self.goal]

    def drive(self, direction):
        north, east = ((1, 0), (0, 1), (-1, 0), (0, -1))[direction]
        self.place[0] = min(max(self.place[0] + north, 0), SIZE - 1)
        self.place[1] = min(max(self.place[1] + east, 0), SIZE - 1)
        arrived = self.place == self.goal
        return self.view(), 5.0 if arrived else -0.1 * self.cost[self.place[0]][self.place[1]], arrived
