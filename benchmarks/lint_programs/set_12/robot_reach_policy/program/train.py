"""Reaching policy trained with centralised inference.

Rank 0 is the learner and holds the policy.  Every other rank is an actor that
steps a batch of simulated arms, sends observations to the learner and gets
actions back.

    torchrun --nproc-per-node 3 train.py --iters 30
"""
import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import nn

OBS_DIM = 4   # position (2), goal (2)
ACT_DIM = 2


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--iters", type=int, default=30)
    p.add_argument("--horizon", type=int, default=10)
    p.add_argument("--envs-per-actor", type=int, default=16)
    p.add_argument("--lr", type=float, default=1e-2)
    p.add_argument("--gamma", type=float, default=0.9)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="policy.pt")
    return p.parse_args()


class ReachEnv:
    """A batch of planar arms; contacts make some steps slower than others."""

    def __init__(self, n, seed):
        self.n = n
        self.gen = torch.Generator().manual_seed(seed)
        self.jitter = random.Random(seed)

    def reset(self):
        self.pos = torch.rand(self.n, 2, generator=self.gen) * 2 - 1
        self.goal = torch.rand(self.n, 2, generator=self.gen) * 2 - 1
        return self.obs()

    def obs(self):
        return torch.cat([self.pos, self.goal], dim=1)

    def step(self, action):
        substeps = self.jitter.randint(1, 8)
        for _ in range(substeps):
            self.pos = self.pos + 0.2 * action.clamp(-1, 1) / substeps
            time.sleep(0.0005)
        reward = -(self.pos - self.goal).norm(dim=1)
        return self.obs(), reward


class Policy(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(OBS_DIM, hidden), nn.Tanh(), nn.Linear(hidden, ACT_DIM)
        )
        self.log_std = nn.Parameter(torch.full((ACT_DIM,), -0.5))

    def forward(self, obs):
        return torch.distributions.Normal(self.net(obs), self.log_std.exp())


def pack(obs, reward):
    return torch.cat([obs, reward[:, None]], dim=1).contiguous()


def collect(policy, actors, args):
    """One rollout of every actor; returns log-probabilities and rewards [T, A, N]."""
    n = args.envs_per_actor
    inbox = torch.empty(len(actors), n, OBS_DIM + 1)
    logps, rewards = [], []
    for t in range(args.horizon + 1):
        for i, actor in enumerate(actors):
            dist.recv(inbox[i])
        obs, reward = inbox[..., :OBS_DIM].clone(), inbox[..., OBS_DIM].clone()
        if t > 0:
            rewards.append(reward)
        if t == args.horizon:
            break
        pi = policy(obs)
        action = pi.sample()
        logps.append(pi.log_prob(action).sum(-1))
        for i, actor in enumerate(actors):
            dist.send(action[i].contiguous(), dst=actor)
    return torch.stack(logps), torch.stack(rewards)


def returns_to_go(rewards, gamma):
    out = torch.zeros_like(rewards)
    running = torch.zeros_like(rewards[0])
    for t in reversed(range(rewards.size(0))):
        running = rewards[t] + gamma * running
        out[t] = running
    return out


def run_learner(args, world_size):
    torch.manual_seed(args.seed)
    actors = list(range(1, world_size))
    policy = Policy()
    optim = torch.optim.Adam(policy.parameters(), lr=args.lr)
    for it in range(args.iters):
        logps, rewards = collect(policy, actors, args)
        ret = returns_to_go(rewards, args.gamma)
        adv = ret - ret.mean(dim=(1, 2), keepdim=True)
        adv = adv / (adv.std() + 1e-6)
        loss = -(logps * adv).mean()
        optim.zero_grad()
        loss.backward()
        optim.step()
        if it % 10 == 0 or it == args.iters - 1:
            print(f"iter {it:4d} final distance {-rewards[-1].mean().item():.3f}", flush=True)
    torch.save(policy.state_dict(), args.out)


def run_actor(args, rank):
    env = ReachEnv(args.envs_per_actor, seed=args.seed + 100 * rank)
    action = torch.empty(args.envs_per_actor, ACT_DIM)
    for _ in range(args.iters):
        obs = env.reset()
        reward = torch.zeros(args.envs_per_actor)
        for _ in range(args.horizon):
            dist.send(pack(obs, reward), dst=0)
            dist.recv(action, src=0)
            obs, reward = env.step(action)
        dist.send(pack(obs, reward), dst=0)


def main():
    args = parse_args()
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    if world_size < 2:
        raise SystemExit("needs a learner and at least one actor")
    if rank == 0:
        run_learner(args, world_size)
    else:
        run_actor(args, rank)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
