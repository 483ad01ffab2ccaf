import math

import numpy as np


class VecCartPole:
    """Vectorised CartPole with auto-reset, same dynamics as the classic control task."""

    gravity, masscart, masspole, length, force, tau = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
    theta_limit, x_limit, max_steps = 12 * 2 * math.pi / 360, 2.4, 500

    def __init__(self, num_envs, seed):
        self.num_envs = num_envs
        self.rng = np.random.default_rng(seed)
        self.state = self._sample(num_envs)
        self.steps = np.zeros(num_envs, dtype=np.int64)
        self.returns = np.zeros(num_envs, dtype=np.float32)

    def _sample(self, n):
        return self.rng.uniform(-0.05, 0.05, size=(n, 4)).astype(np.float32)

    def reset(self):
        self.state = self._sample(self.num_envs)
        self.steps[:] = 0
        self.returns[:] = 0
        return self.state.copy()

    def step(self, actions):
        x, x_dot, theta, theta_dot = self.state.T
        force = np.where(actions == 1, self.force, -self.force)
        total = self.masscart + self.masspole
        pml = self.masspole * self.length
        cos, sin = np.cos(theta), np.sin(theta)
        temp = (force + pml * theta_dot**2 * sin) / total
        theta_acc = (self.gravity * sin - cos * temp) / (
            self.length * (4.0 / 3.0 - self.masspole * cos**2 / total)
        )
        x_acc = temp - pml * theta_acc * cos / total
        self.state = np.stack(
            [x + self.tau * x_dot, x_dot + self.tau * x_acc,
             theta + self.tau * theta_dot, theta_dot + self.tau * theta_acc], axis=1
        ).astype(np.float32)
        self.steps += 1
        self.returns += 1.0
        done = (
            (np.abs(self.state[:, 0]) > self.x_limit)
            | (np.abs(self.state[:, 2]) > self.theta_limit)
            | (self.steps >= self.max_steps)
        )
        finished = self.returns[done].tolist()
        if done.any():
            self.state[done] = self._sample(int(done.sum()))
            self.steps[done] = 0
            self.returns[done] = 0
        return self.state.copy(), np.ones(self.num_envs, np.float32), done, finished
