import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributions import Normal, kl_divergence


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=32):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, act_dim))
        self.critic = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.log_std = nn.Parameter(torch.zeros(act_dim))

    def forward(self, obs):
        mean = self.actor(obs)
        return mean, self.log_std.exp().expand_as(mean), self.critic(obs).squeeze(-1)


def global_standardize(x):
    s = torch.stack([x.sum(), x.pow(2).sum(), torch.tensor(float(x.numel()), device=x.device)])
    dist.all_reduce(s)
    mean = s[0] / s[2]
    std = (s[1] / s[2] - mean ** 2).clamp_min(1e-8).sqrt()
    return (x - mean) / std


class PPO:
    def __init__(self, model, lr, cfg):
        self.model, self.lr, self.cfg = model, lr, cfg
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def _adapt_lr(self, old, new):
        """Keep the policy's step near desired_kl (schedule 'adaptive')."""
        with torch.no_grad():
            kl = kl_divergence(old, new).sum(-1).mean()
        if kl > 2.0 * self.cfg.desired_kl:
            self.lr = max(1e-5, self.lr / 1.5)
        elif kl < 0.5 * self.cfg.desired_kl:
            self.lr = min(1e-2, self.lr * 1.5)
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr

    def update(self, roll):
        obs, act, logp, mean, std, adv, ret = roll
        adv = global_standardize(adv)
        n, total = len(obs), 0.0
        for _ in range(self.cfg.update_epochs):
            for idx in torch.randperm(n, device=obs.device).chunk(self.cfg.minibatches):
                new_mean, new_std, value = self.model(obs[idx])
                pi = Normal(new_mean, new_std)
                self._adapt_lr(Normal(mean[idx], std[idx]), pi)
                ratio = (pi.log_prob(act[idx]).sum(-1) - logp[idx]).exp()
                a = adv[idx]
                policy = -torch.min(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
                loss = (policy + 0.5 * (value - ret[idx]).pow(2).mean()
                        - 0.005 * pi.entropy().sum(-1).mean())
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                total += loss.item()
        return total / (self.cfg.update_epochs * self.cfg.minibatches)
