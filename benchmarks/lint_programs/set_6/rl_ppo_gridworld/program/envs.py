import numpy as np


class GridWorld:
    """8x8 grid with random walls; the agent must reach the goal in 40 moves."""

    SIZE, LIMIT = 8, 40
    MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.walls = self.rng.random((self.SIZE, self.SIZE)) < 0.15
        cells = self.rng.permutation(self.SIZE * self.SIZE)[:2]
        self.pos, self.goal = (divmod(int(c), self.SIZE) for c in cells)
        self.walls[self.pos] = self.walls[self.goal] = False
        self.t = 0
        return self._obs()

    def _obs(self):
        obs = np.zeros((3, self.SIZE, self.SIZE), np.float32)
        obs[0] = self.walls
        obs[1][self.pos] = 1
        obs[2][self.goal] = 1
        return obs

    def step(self, action):
        self.t += 1
        r, c = (p + d for p, d in zip(self.pos, self.MOVES[action]))
        if 0 <= r < self.SIZE and 0 <= c < self.SIZE and not self.walls[r, c]:
            self.pos = (r, c)
        won = self.pos == self.goal
        return self._obs(), (1.0 if won else -0.01), won or self.t >= self.LIMIT


class VecEnv:
    def __init__(self, n, seed):
        self.envs = [GridWorld(seed * 1000 + i) for i in range(n)]
        self.returns = np.zeros(n)

    def reset(self):
        return np.stack([e.reset() for e in self.envs])

    def step(self, actions):
        obs, rewards, dones, finished = [], [], [], []
        for i, (env, a) in enumerate(zip(self.envs, actions)):
            o, r, d = env.step(int(a))
            self.returns[i] += r
            if d:
                finished.append(self.returns[i])
                self.returns[i] = 0
                o = env.reset()
            obs.append(o), rewards.append(r), dones.append(d)
        return np.stack(obs), np.array(rewards, np.float32), np.array(dones, np.float32), finished
