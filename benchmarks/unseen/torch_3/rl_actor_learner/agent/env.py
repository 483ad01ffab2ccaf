import random


class Corridor:
    """Walk to the right end of a corridor; wind pushes back now and then."""

    def __init__(self, length=12, seed=0):
        self.length, self.rng = length, random.Random(seed)
        self.reset()

    def reset(self):
        self.pos, self.t = 0, 0
        return self.observe()

    def observe(self):
        return [self.pos / self.length, self.t / 40.0, 1.0]

    def step(self, action):
        self.t += 1
        move = 1 if action == 1 else -1
        if self.rng.random() < 0.1:
            move = -1
        self.pos = max(0, self.pos + move)
        done = self.pos >= self.length or self.t >= 40
        reward = 1.0 if self.pos >= self.length else -0.01
        return self.observe(), reward, done
