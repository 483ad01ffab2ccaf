import torch

OBS, ACTIONS = 4, 3


class Arena:
    """A number of cart-like bodies that are kept near zero."""

    def __init__(self, bodies, seed):
        self.gen = torch.Generator().manual_seed(seed)
        self.state = torch.randn(bodies, 2, generator=self.gen)

    def observe(self):
        return torch.cat([self.state, self.state.sign()], dim=1)

    def play(self, q, epsilon):
        obs = self.observe()
        with torch.no_grad():
            act = q(obs).argmax(1)
        explore = torch.rand(len(act), generator=self.gen) < epsilon
        act = torch.where(explore, torch.randint(0, ACTIONS, act.shape, generator=self.gen), act)
        vel = 0.9 * self.state[:, 1] + 0.3 * (act.float() - 1)
        self.state = torch.stack([(self.state[:, 0] + 0.3 * vel).clamp(-3, 3), vel], dim=1)
        rew = -self.state[:, 0].abs()
        return list(zip(obs, act, rew, self.observe()))
