"""Synchronous PPO: every rank steps its own environments, gradients are averaged."""
import argparse
import math

import torch
import torch.distributed as dist
import torch.nn as nn


class Pendulum:
    """Vectorised pendulum swing-up in torch."""

    def __init__(self, n, seed, horizon=100):
        self.n, self.horizon = n, horizon
        self.gen = torch.Generator().manual_seed(seed)
        self.reset()

    def reset(self):
        self.th = (torch.rand(self.n, generator=self.gen) * 2 - 1) * math.pi
        self.dth = torch.rand(self.n, generator=self.gen) * 2 - 1
        self.t = 0
        return self.obs()

    def obs(self):
        return torch.stack([self.th.cos(), self.th.sin(), self.dth / 8], -1)

    def step(self, u):
        u = u.clamp(-2, 2)
        th = (self.th + math.pi) % (2 * math.pi) - math.pi
        cost = th ** 2 + 0.1 * self.dth ** 2 + 0.001 * u ** 2
        self.dth = (self.dth + (15 * self.th.sin() + 3 * u) * 0.05).clamp(-8, 8)
        self.th = self.th + self.dth * 0.05
        self.t += 1
        return self.obs(), -cost / 10, self.t >= self.horizon


class ActorCritic(nn.Module):
    def __init__(self, obs=3, hid=64):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(obs, hid), nn.Tanh(), nn.Linear(hid, 1))
        self.v = nn.Sequential(nn.Linear(obs, hid), nn.Tanh(), nn.Linear(hid, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def dist(self, obs):
        return torch.distributions.Normal(self.pi(obs).squeeze(-1), self.log_std.exp())


def average_gradients(model):
    flat = torch.cat([p.grad.flatten() for p in model.parameters()])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    i = 0
    for p in model.parameters():
        p.grad.copy_(flat[i:i + p.numel()].view_as(p))
        i += p.numel()


def rollout(env, ac, steps, gamma, lam):
    obs = env.reset()
    O, A, L, R, V = [], [], [], [], []
    with torch.no_grad():
        for _ in range(steps):
            pi = ac.dist(obs)
            a = pi.sample()
            nobs, r, _ = env.step(a)
            O.append(obs); A.append(a); L.append(pi.log_prob(a)); R.append(r); V.append(ac.v(obs).squeeze(-1))
            obs = nobs
        last = ac.v(obs).squeeze(-1)
    adv, out = torch.zeros_like(last), []
    for t in reversed(range(steps)):
        delta = R[t] + gamma * last - V[t]
        adv = delta + gamma * lam * adv
        last = V[t]
        out.append(adv)
    adv = torch.stack(out[::-1])
    ret = adv + torch.stack(V)
    flat = lambda x: x.reshape(-1, *x.shape[2:])
    return flat(torch.stack(O)), flat(torch.stack(A)), flat(torch.stack(L)), flat(adv), flat(ret), torch.stack(R).sum(0).mean()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iters", type=int, default=200)
    p.add_argument("--envs", type=int, default=8)
    p.add_argument("--steps", type=int, default=100)
    p.add_argument("--train-pi-iters", type=int, default=40)
    p.add_argument("--target-kl", type=float, default=0.015)
    p.add_argument("--clip", type=float, default=0.2)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)
    ac = ActorCritic()
    for prm in ac.parameters():
        dist.broadcast(prm.data, src=0)
    opt = torch.optim.Adam(ac.parameters(), lr=args.lr)

    torch.manual_seed(args.seed + 1000 * rank)
    env = Pendulum(args.envs, seed=args.seed + 1000 * rank)

    for it in range(args.iters):
        obs, act, logp_old, adv, ret, score = rollout(env, ac, args.steps, 0.99, 0.95)
        stats = torch.stack([adv.sum(), (adv ** 2).sum(), torch.tensor(float(adv.numel()))])
        dist.all_reduce(stats)
        mean = stats[0] / stats[2]
        std = (stats[1] / stats[2] - mean ** 2).clamp_min(1e-8).sqrt()
        adv = (adv - mean) / std

        for k in range(args.train_pi_iters):
            pi = ac.dist(obs)
            logp = pi.log_prob(act)
            kl = (logp_old - logp).mean().item()
            if kl > 1.5 * args.target_kl:
                break
            ratio = (logp - logp_old).exp()
            clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
            loss = -torch.min(ratio * adv, clipped * adv).mean()
            loss = loss + 0.5 * (ac.v(obs).squeeze(-1) - ret).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            average_gradients(ac)
            opt.step()

        dist.all_reduce(score)
        if rank == 0:
            print(f"iter {it:4d} return {score.item() / world:8.3f} pi_updates {k + 1}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
