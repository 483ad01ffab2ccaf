"""Vectorised corridor environment and the fixed-size rollouts the actors ship."""
import torch

N_OBS, N_ACT = 6, 3


class Corridor:
    """A walker moves left, right or stays; reward while it is near the beacon."""

    def __init__(self, n_envs, seed):
        self.rng = torch.Generator().manual_seed(seed)
        self.n = n_envs
        self.reset()

    def reset(self):
        self.pos = torch.randint(-3, 4, (self.n,), generator=self.rng).float()
        self.goal = torch.randint(-3, 4, (self.n,), generator=self.rng).float()
        self.t = 0
        return self.observe()

    def observe(self):
        gap = self.goal - self.pos
        return torch.stack([self.pos / 4, self.goal / 4, gap / 8, gap.sign(),
                            (gap == 0).float(), torch.full_like(gap, self.t / 16)], dim=1)

    def step(self, action):
        self.pos = (self.pos + action.float() - 1).clamp(-4, 4)
        self.t += 1
        return self.observe(), (self.pos == self.goal).float()


def unroll(policy, env, horizon):
    """Returns [horizon, n_envs, N_OBS + 2]: observation, action, reward."""
    obs, rows = env.reset(), []
    for _ in range(horizon):
        with torch.no_grad():
            probs = policy(obs).softmax(-1)
        act = torch.multinomial(probs, 1, generator=env.rng).squeeze(1)
        nxt, rew = env.step(act)
        rows.append(torch.cat([obs, act.float()[:, None], rew[:, None]], dim=1))
        obs = nxt
    return torch.stack(rows)
