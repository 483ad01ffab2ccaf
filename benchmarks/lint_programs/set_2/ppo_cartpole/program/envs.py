import numpy as np


class VecCartPole:
    """Batch of cart poles with automatic reset; env k draws its start states from seed + k."""

    def __init__(self, n, seed, limit=500):
        self.n, self.limit = n, limit
        self.rngs = [np.random.default_rng(seed + k) for k in range(n)]
        self.s = np.zeros((n, 4), np.float32)
        self.t = np.zeros(n, int)

    def _start(self, k):
        self.s[k] = self.rngs[k].uniform(-0.05, 0.05, 4)
        self.t[k] = 0

    def reset(self):
        for k in range(self.n):
            self._start(k)
        return self.s.copy()

    def step(self, action):
        x, v, th, w = self.s.T
        force = np.where(action == 1, 10.0, -10.0)
        c, sn = np.cos(th), np.sin(th)
        tmp = (force + 0.05 * w ** 2 * sn) / 1.1
        acc = (9.8 * sn - c * tmp) / (0.5 * (4 / 3 - 0.1 * c ** 2 / 1.1))
        xacc = tmp - 0.05 * acc * c / 1.1
        self.s = np.stack([x + 0.02 * v, v + 0.02 * xacc, th + 0.02 * w, w + 0.02 * acc], 1).astype(np.float32)
        self.t += 1
        done = (np.abs(self.s[:, 0]) > 2.4) | (np.abs(self.s[:, 2]) > 0.2095) | (self.t >= self.limit)
        lengths = self.t[done].tolist()
        for k in np.flatnonzero(done):
            self._start(k)
        return self.s.copy(), np.ones(self.n, np.float32), done.astype(np.float32), lengths
