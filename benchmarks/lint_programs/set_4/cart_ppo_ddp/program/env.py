import torch


class CartPole:
    """Vectorised cart-pole; resets the poles that fall."""

    def __init__(self, n, seed, limit=200):
        self.n, self.limit = n, limit
        self.gen = torch.Generator().manual_seed(seed)
        self.s, self.t = self._fresh(n), torch.zeros(n)

    def _fresh(self, k):
        return 0.1 * torch.rand(k, 4, generator=self.gen) - 0.05

    def obs(self):
        return self.s.clone()

    def step(self, a):
        x, xd, th, thd = self.s.unbind(1)
        force = torch.where(a == 1, 10.0, -10.0)
        tmp = (force + 0.05 * thd**2 * th.sin()) / 1.1
        tha = (9.8 * th.sin() - th.cos() * tmp) / (0.5 * (4 / 3 - 0.1 * th.cos() ** 2 / 1.1))
        xa = tmp - 0.05 * tha * th.cos() / 1.1
        self.s = torch.stack([x + 0.02 * xd, xd + 0.02 * xa, th + 0.02 * thd, thd + 0.02 * tha], 1)
        self.t += 1
        done = (self.s[:, 0].abs() > 2.4) | (self.s[:, 2].abs() > 0.21) | (self.t >= self.limit)
        lengths = self.t[done].tolist()
        if done.any():
            self.s[done] = self._fresh(int(done.sum()))
            self.t[done] = 0
        return self.obs(), torch.ones(self.n), done.float(), lengths
