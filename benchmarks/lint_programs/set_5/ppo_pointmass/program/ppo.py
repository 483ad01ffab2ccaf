"""PPO on a small point-mass task, data parallel over ranks (each rank has its own envs).

    torchrun --nproc_per_node=4 ppo.py --num-envs 32
"""
import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributions import Normal
from torch.nn.parallel import DistributedDataParallel as DDP


class PointMassVec:
    """num_envs point masses in 2-d that must reach the origin; 100 steps per episode."""

    obs_dim, act_dim, horizon = 4, 2, 100

    def __init__(self, num_envs, seed):
        self.n = num_envs
        self.rng = np.random.default_rng(seed)
        self.pos = np.zeros((num_envs, 2), np.float32)
        self.vel = np.zeros((num_envs, 2), np.float32)
        self.t = np.zeros(num_envs, np.int64)
        self._reset(np.ones(num_envs, bool))

    def _reset(self, mask):
        k = int(mask.sum())
        self.pos[mask] = self.rng.uniform(-1, 1, (k, 2))
        self.vel[mask] = 0
        self.t[mask] = 0

    def obs(self):
        return np.concatenate([self.pos, self.vel], 1).astype(np.float32)

    def step(self, action):
        action = np.clip(action, -1, 1)
        self.vel = 0.9 * self.vel + 0.1 * action
        self.pos = np.clip(self.pos + 0.1 * self.vel, -2, 2)
        self.t += 1
        reward = -np.linalg.norm(self.pos, axis=1) - 0.01 * (action ** 2).sum(1)
        done = self.t >= self.horizon
        self._reset(done)
        return self.obs(), reward.astype(np.float32), done


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=64):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                                   nn.Linear(hidden, act_dim))
        self.critic = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                                    nn.Linear(hidden, 1))
        self.log_std = nn.Parameter(torch.full((act_dim,), -0.5))

    def forward(self, obs, action=None):
        pi = Normal(self.actor(obs), self.log_std.exp())
        if action is None:
            action = pi.sample()
        return action, pi.log_prob(action).sum(-1), pi.entropy().sum(-1), self.critic(obs).squeeze(-1)


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--num-envs", type=int, default=32)
    p.add_argument("--num-steps", type=int, default=128)
    p.add_argument("--updates", type=int, default=300)
    p.add_argument("--update-epochs", type=int, default=10)
    p.add_argument("--minibatches", type=int, default=4)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--gamma", type=float, default=0.99)
    p.add_argument("--lam", type=float, default=0.95)
    p.add_argument("--clip", type=float, default=0.2)
    p.add_argument("--ent-coef", type=float, default=0.0)
    p.add_argument("--vf-coef", type=float, default=0.5)
    p.add_argument("--target-kl", type=float, default=0.015)
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


def compute_gae(rewards, values, dones, last_value, gamma, lam):
    adv = torch.zeros_like(rewards)
    running = torch.zeros_like(last_value)
    for t in reversed(range(rewards.size(0))):
        nonterminal = 1.0 - dones[t]
        next_value = last_value if t == rewards.size(0) - 1 else values[t + 1]
        delta = rewards[t] + gamma * next_value * nonterminal - values[t]
        running = delta + gamma * lam * nonterminal * running
        adv[t] = running
    return adv, adv + values


def main():
    args = get_args()
    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")

    torch.manual_seed(args.seed + rank)
    envs = PointMassVec(args.num_envs, seed=args.seed + 1000 * rank)
    agent = DDP(ActorCritic(envs.obs_dim, envs.act_dim).to(device), device_ids=[local_rank] if cuda else None)
    opt = torch.optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5)

    T, N = args.num_steps, args.num_envs
    obs = torch.zeros(T, N, envs.obs_dim, device=device)
    actions = torch.zeros(T, N, envs.act_dim, device=device)
    logps, rewards, dones, values = (torch.zeros(T, N, device=device) for _ in range(4))
    next_obs = torch.from_numpy(envs.obs()).to(device)

    for update in range(args.updates):
        for t in range(T):
            obs[t] = next_obs
            with torch.no_grad():
                a, lp, _, v = agent.module(next_obs)
            actions[t], logps[t], values[t] = a, lp, v
            o, r, d = envs.step(a.cpu().numpy())
            next_obs = torch.from_numpy(o).to(device)
            rewards[t] = torch.from_numpy(r).to(device)
            dones[t] = torch.from_numpy(d.astype(np.float32)).to(device)
        with torch.no_grad():
            last_value = agent.module(next_obs)[3]
        adv, returns = compute_gae(rewards, values, dones, last_value, args.gamma, args.lam)

        b_obs, b_act = obs.flatten(0, 1), actions.flatten(0, 1)
        b_logp, b_adv, b_ret = logps.flatten(), adv.flatten(), returns.flatten()
        mb_size = T * N // args.minibatches
        for epoch in range(args.update_epochs):
            kls = []
            for idx in torch.randperm(T * N, device=device).split(mb_size):
                _, new_logp, entropy, new_v = agent(b_obs[idx], b_act[idx])
                log_ratio = new_logp - b_logp[idx]
                ratio = log_ratio.exp()
                kls.append(((ratio - 1) - log_ratio).mean().detach())
                mb_adv = b_adv[idx]
                mb_adv = (mb_adv - mb_adv.mean()) / (mb_adv.std() + 1e-8)
                pg = -torch.min(mb_adv * ratio, mb_adv * ratio.clamp(1 - args.clip, 1 + args.clip)).mean()
                loss = pg + args.vf_coef * (new_v - b_ret[idx]).pow(2).mean() - args.ent_coef * entropy.mean()
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                opt.step()
            approx_kl = torch.stack(kls).mean()
            if approx_kl > args.target_kl:
                break

        mean_reward = rewards.mean()
        dist.all_reduce(mean_reward)
        if rank == 0 and update % 10 == 0:
            print(f"update {update} reward {mean_reward.item() / world:.4f} kl {approx_kl.item():.4f} "
                  f"epochs {epoch + 1}", flush=True)

    if rank == 0:
        torch.save(agent.module.state_dict(), "agent.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
