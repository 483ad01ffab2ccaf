import torch


class PointReacher:
    """A batch of points that must be pushed to the origin."""

    obs_dim, act_dim, horizon = 4, 2, 40

    def __init__(self, n, device, seed):
        self.n, self.device = n, device
        self.gen = torch.Generator().manual_seed(seed)
        self.pos = self._sample()
        self.vel = torch.zeros_like(self.pos)
        self.t = torch.randint(0, self.horizon, (n,), generator=self.gen).to(device)

    def _sample(self):
        return (torch.rand(self.n, 2, generator=self.gen) * 4 - 2).to(self.device)

    def obs(self):
        return torch.cat([self.pos, self.vel], 1)

    def step(self, act):
        act = act.clamp(-1, 1)
        self.vel = 0.9 * self.vel + 0.1 * act
        self.pos = self.pos + self.vel
        reward = -self.pos.norm(dim=1) - 0.01 * act.pow(2).sum(1)
        self.t += 1
        done = self.t >= self.horizon
        fresh = self._sample()
        self.pos = torch.where(done[:, None], fresh, self.pos)
        self.vel = torch.where(done[:, None], torch.zeros_like(self.vel), self.vel)
        self.t = torch.where(done, torch.zeros_like(self.t), self.t)
        return self.obs(), reward, done.float()
