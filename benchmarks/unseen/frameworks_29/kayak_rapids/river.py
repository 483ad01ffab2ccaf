"""A very small whitewater simulator. The paddler chooses left / straight / right, the river does the rest."""
import numpy as np

# discharge in m3/s of the gauge of each river, as the hydrology office publishes it (one value per run of the day)
GAUGES = {
    0: [14, 16, 15, 18, 21, 19, 17, 16],
    1: [9, 11, 12, 10, 8, 6, 3, 0],
    2: [22, 20, 24, 27, 25, 23, 22, 21],
}


class River:
    def __init__(self, number):
        self.levels = GAUGES[number]
        self.random = np.random.default_rng(100 + number)
        self.run = -1

    def reset(self):
        self.run += 1
        # eight runs a day, three days on the same course
        self.flow = self.levels[(self.run // 3) % len(self.levels)]
        self.position = 0.0
        return self.observe()

    def observe(self):
        return np.array([self.position, self.flow / 30, self.random.normal() * 0.1, 1.0], dtype=np.float32)

    def passage_time(self):
        """Seconds through one gate: course length over speed of the current."""
        return 12 * 4 // self.flow

    def step(self, action):
        self.position += 0.3 * (action - 1) + self.random.normal() * 0.1
        reward = 1.0 - abs(self.position) - 0.01 * self.passage_time()
        return self.observe(), reward
