"""PPO for the pendulum swing-up, one vector of environments per GPU.

    torchrun --nproc-per-node 8 train_ppo.py --iterations 400
"""
import argparse
import math
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributions import Normal
from torch.nn.parallel import DistributedDataParallel as DDP


class PendulumVec:
    """A batch of torque-limited pendulums on one device."""

    def __init__(self, num_envs, device, seed):
        self.n, self.device = num_envs, device
        self.gen = torch.Generator().manual_seed(seed)
        self.horizon = 200
        self.reset()

    def _uniform(self, low, high):
        return (torch.rand(self.n, generator=self.gen) * (high - low) + low).to(self.device)

    def reset(self):
        self.theta = self._uniform(-math.pi, math.pi)
        self.omega = self._uniform(-1.0, 1.0)
        self.t = 0
        return self.obs()

    def obs(self):
        return torch.stack([self.theta.cos(), self.theta.sin(), self.omega / 8.0], dim=-1)

    def step(self, action):
        u = action.squeeze(-1).clamp(-2.0, 2.0)
        angle = (self.theta + math.pi) % (2 * math.pi) - math.pi
        reward = -(angle**2 + 0.1 * self.omega**2 + 0.001 * u**2) / 16.0
        self.omega = (self.omega + (15.0 * self.theta.sin() + 3.0 * u) * 0.05).clamp(-8.0, 8.0)
        self.theta = self.theta + self.omega * 0.05
        self.t += 1
        done = self.t >= self.horizon
        obs = self.reset() if done else self.obs()
        return obs, reward, done


class ActorCritic(nn.Module):
    def __init__(self, obs_dim=3, act_dim=1, hidden=64):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, act_dim))
        self.v = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.log_std = nn.Parameter(torch.full((act_dim,), -0.5))

    def forward(self, obs, act):
        dist_ = Normal(self.pi(obs), self.log_std.exp())
        return dist_.log_prob(act).sum(-1), dist_.entropy().sum(-1), self.v(obs).squeeze(-1)

    @torch.no_grad()
    def act(self, obs):
        dist_ = Normal(self.pi(obs), self.log_std.exp())
        a = dist_.sample()
        return a, dist_.log_prob(a).sum(-1), self.v(obs).squeeze(-1)


def collect(policy, env, obs, steps, gamma, lam):
    data = {k: [] for k in ("obs", "act", "logp", "val", "rew", "done")}
    for _ in range(steps):
        act, logp, val = policy.act(obs)
        nxt, rew, done = env.step(act)
        for k, v in zip(data, (obs, act, logp, val, rew, torch.full_like(rew, float(done)))):
            data[k].append(v)
        obs = nxt
    data = {k: torch.stack(v) for k, v in data.items()}
    last = policy.act(obs)[2]
    adv, acc = torch.zeros_like(data["rew"]), torch.zeros_like(last)
    for t in reversed(range(steps)):
        live = 1.0 - data["done"][t]
        nxt_val = last if t == steps - 1 else data["val"][t + 1]
        delta = data["rew"][t] + gamma * nxt_val * live - data["val"][t]
        acc = delta + gamma * lam * live * acc
        adv[t] = acc
    batch = {k: data[k].flatten(0, 1) for k in ("obs", "act", "logp")}
    batch["adv"] = adv.flatten()
    batch["ret"] = (adv + data["val"]).flatten()
    return batch, obs, data["rew"].mean()


def update(model, opt, batch, args):
    n = batch["obs"].shape[0]
    adv = (batch["adv"] - batch["adv"].mean()) / (batch["adv"].std() + 1e-8)
    for _ in range(args.update_epochs):
        perm = torch.randperm(n, device=adv.device)
        kls = []
        for idx in perm.split(args.minibatch):
            logp, entropy, value = model(batch["obs"][idx], batch["act"][idx])
            log_ratio = logp - batch["logp"][idx]
            ratio = log_ratio.exp()
            clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
            pi_loss = -torch.min(ratio * adv[idx], clipped * adv[idx]).mean()
            v_loss = 0.5 * (value - batch["ret"][idx]).pow(2).mean()
            loss = pi_loss + 0.5 * v_loss - args.ent_coef * entropy.mean()
            opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            opt.step()
            kls.append(((ratio - 1) - log_ratio).mean().detach())
        approx_kl = torch.stack(kls).mean()
        if approx_kl > args.target_kl:
            break
    return approx_kl


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iterations", type=int, default=30)
    p.add_argument("--num-envs", type=int, default=8)
    p.add_argument("--rollout", type=int, default=64)
    p.add_argument("--minibatch", type=int, default=128)
    p.add_argument("--update-epochs", type=int, default=8)
    p.add_argument("--target-kl", type=float, default=0.01)
    p.add_argument("--clip", type=float, default=0.2)
    p.add_argument("--ent-coef", type=float, default=0.001)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--out", default="ppo_pendulum.pt")
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(args.seed + rank)

    model = DDP(ActorCritic().to(device), device_ids=[local_rank] if cuda else None)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    env = PendulumVec(args.num_envs, device, seed=args.seed * 1000 + rank)
    obs = env.reset()
    for it in range(args.iterations):
        batch, obs, reward = collect(model.module, env, obs, args.rollout, 0.99, 0.95)
        kl = update(model, opt, batch, args)
        stats = torch.stack([reward, kl])
        dist.all_reduce(stats)
        stats /= world
        if rank == 0:
            print(f"iter {it:4d} reward {stats[0].item():.4f} kl {stats[1].item():.5f}", flush=True)
    if rank == 0:
        torch.save(model.module.state_dict(), args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
