import torch
import torch.nn as nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self, obs=4, act=2, h=64):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(obs, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh(), nn.Linear(h, act))
        self.v = nn.Sequential(nn.Linear(obs, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh(), nn.Linear(h, 1))

    def forward(self, x):
        return self.pi(x), self.v(x).squeeze(-1)


@torch.no_grad()
def rollout(net, env, obs, horizon, gamma=0.99, lam=0.95):
    buf, finished = [], []
    for _ in range(horizon):
        o = torch.from_numpy(obs)
        logits, v = net(o)
        d = Categorical(logits=logits)
        a = d.sample()
        obs, r, done, lengths = env.step(a.numpy())
        finished += lengths
        buf.append((o, a, d.log_prob(a), v, torch.from_numpy(r), torch.from_numpy(done)))
    o, a, lp, v, r, done = (torch.stack(t) for t in zip(*buf))
    _, nxt = net(torch.from_numpy(obs))
    adv, g = torch.zeros_like(r), torch.zeros_like(nxt)
    for t in reversed(range(horizon)):
        keep = 1 - done[t]
        g = r[t] + gamma * nxt * keep - v[t] + gamma * lam * keep * g
        adv[t], nxt = g, v[t]
    flat = [x.flatten(0, 1) for x in (o, a, lp, adv, adv + v)]
    return flat, obs, finished


def update(model, opt, batch, epochs=4, minibatch=512, clip=0.2):
    n = len(batch[0])
    for _ in range(epochs):
        perm = torch.randperm(n)
        for i in range(0, n, minibatch):
            o, a, old, adv, ret = (x[perm[i:i + minibatch]] for x in batch)
            logits, v = model(o)
            d = Categorical(logits=logits)
            ratio = (d.log_prob(a) - old).exp()
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            pg = -torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()
            loss = pg + 0.5 * (v - ret).pow(2).mean() - 0.01 * d.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            opt.step()
