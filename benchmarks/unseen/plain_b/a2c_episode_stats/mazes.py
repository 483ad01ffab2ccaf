"""One-dimensional mazes with a curriculum: after some episodes the exit moves further away."""
import torch


class Maze:
    def __init__(self, start, growth, per_level):
        self.length, self.growth, self.per_level = start, growth, per_level
        self.done_episodes = 0
        self.restart()

    def restart(self):
        self.t, self.score = 0, 0.0

    def observe(self):
        return torch.tensor([self.t / self.length, self.length / 40, float(self.t % 2), 1.0])

    def step(self, action):
        """The door opens when the time is up; pressing on odd ticks scores."""
        reward = float(action == self.t % 2)
        self.t += 1
        self.score += reward
        if self.t < self.length:
            return reward, None
        finished = (self.score, self.t)
        self.done_episodes += 1
        if self.done_episodes % self.per_level == 0:
            self.length += self.growth
        self.restart()
        return reward, finished


COURSES = {
    0: dict(start=6, growth=0, per_level=10),
    1: dict(start=6, growth=4, per_level=10),
    2: dict(start=8, growth=0, per_level=10),
}
