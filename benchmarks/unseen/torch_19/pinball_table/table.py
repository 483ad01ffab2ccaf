"""A pinball table with four shots: a small Markov game with a multiball mode."""
import dataclasses
import random


@dataclasses.dataclass
class Event:
    ball: int
    shot: int
    points: int


class Table:
    """State: (lane of the ball, lit target). A game is over when the last ball has drained."""

    lanes = 6
    shots = 4

    def __init__(self, seed, locks_for_multiball, balls=1):
        self.random = random.Random(seed)
        self.locks_for_multiball = locks_for_multiball
        self.balls = balls
        self.locked = 0
        self.reset()

    def reset(self):
        self.lane = self.random.randrange(self.lanes)
        self.target = self.random.randrange(self.lanes)
        self.in_play = self.balls
        self.events = []

    def features(self):
        values = [0.0] * (2 * self.lanes)
        values[self.lane] = 1.0
        values[self.lanes + self.target] = 1.0
        return values

    def multiball(self):
        """Every locked ball is kicked out and scores at each bumper that it meets."""
        for ball in range(self.locked):
            for bumper in range(18):
                self.events.append(Event(ball, bumper % self.shots, 500))
        self.in_play += 1
        self.locked = 0

    def shoot(self, shot):
        hit = (self.lane + shot) % self.lanes == self.target
        if hit:
            self.events.append(Event(0, shot, 1000))
            self.target = self.random.randrange(self.lanes)
            self.locked += self.random.random() < 0.1
            if self.locked >= self.locks_for_multiball:
                self.multiball()
        elif self.random.random() < 0.35:
            self.in_play -= 1
        self.lane = self.random.randrange(self.lanes)
        return (1.0 if hit else -0.2), self.in_play <= 0
