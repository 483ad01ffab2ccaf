import numpy as np


class VecCartPole:
    """Batch of cart-poles, same dynamics as gym's CartPole-v1."""

    def __init__(self, n, seed, horizon=200):
        self.n, self.horizon = n, horizon
        self.rng = np.random.default_rng(seed)
        self.state = self._fresh(n)
        self.t = np.zeros(n, dtype=int)

    def _fresh(self, k):
        return self.rng.uniform(-0.05, 0.05, size=(k, 4))

    def reset(self):
        self.state = self._fresh(self.n)
        self.t[:] = 0
        return self.state.astype(np.float32)

    def step(self, action):
        x, x_dot, th, th_dot = self.state.T
        force = np.where(action == 1, 10.0, -10.0)
        cos, sin = np.cos(th), np.sin(th)
        tmp = (force + 0.05 * th_dot ** 2 * sin) / 1.1
        th_acc = (9.8 * sin - cos * tmp) / (0.5 * (4.0 / 3.0 - 0.1 * cos ** 2 / 1.1))
        x_acc = tmp - 0.05 * th_acc * cos / 1.1
        self.state = np.stack(
            [x + 0.02 * x_dot, x_dot + 0.02 * x_acc, th + 0.02 * th_dot, th_dot + 0.02 * th_acc], axis=1)
        self.t += 1
        done = (np.abs(self.state[:, 0]) > 2.4) | (np.abs(self.state[:, 2]) > 0.2095) | (self.t >= self.horizon)
        length = self.t.copy()
        if done.any():
            self.state[done] = self._fresh(int(done.sum()))
            self.t[done] = 0
        return self.state.astype(np.float32), np.ones(self.n, dtype=np.float32), done, length[done]
