"""Synchronous PPO: every rank rolls out environments of its own, the gradients are averaged by DDP."""
import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributions import Categorical
from torch.nn.parallel import DistributedDataParallel as DDP


class BalanceEnv:
    """Vectorised pole balancing with unit time step, reset on fall or after `limit` steps."""

    def __init__(self, n, seed, device, limit=200):
        self.device = device
        self.rng = np.random.default_rng(seed)
        self.n, self.limit = n, limit
        self.state = self.rng.uniform(-0.05, 0.05, (n, 4))
        self.age = np.zeros(n, dtype=int)

    def observe(self):
        return torch.tensor(self.state, dtype=torch.float32, device=self.device)

    def step(self, action):
        x, v, th, w = self.state.T
        force = np.where(action == 1, 10.0, -10.0)
        tmp = (force + 0.05 * w**2 * np.sin(th)) / 1.1
        acc_w = (9.8 * np.sin(th) - np.cos(th) * tmp) / (0.5 * (4 / 3 - 0.1 * np.cos(th) ** 2 / 1.1))
        acc = tmp - 0.05 * acc_w * np.cos(th) / 1.1
        self.state = np.stack([x + 0.02 * v, v + 0.02 * acc, th + 0.02 * w, w + 0.02 * acc_w], axis=1)
        self.age += 1
        done = (np.abs(self.state[:, 0]) > 2.4) | (np.abs(self.state[:, 2]) > 0.21) | (self.age >= self.limit)
        finished = self.age[done].copy()
        self.state[done] = self.rng.uniform(-0.05, 0.05, (done.sum(), 4))
        self.age[done] = 0
        return np.ones(self.n, dtype=np.float32), done, finished


class ActorCritic(nn.Module):
    def __init__(self, obs=4, actions=2, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, actions)
        self.v = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.body(obs)
        return self.pi(h), self.v(h).squeeze(-1)


@torch.no_grad()
def rollout(policy, env, steps, gamma, lam):
    obs, acts, logps, vals, rews, dones, lengths = [], [], [], [], [], [], []
    for _ in range(steps):
        o = env.observe()
        logits, value = policy(o)
        d = Categorical(logits=logits)
        a = d.sample()
        r, done, finished = env.step(a.cpu().numpy())
        obs.append(o), acts.append(a), logps.append(d.log_prob(a)), vals.append(value)
        rews.append(torch.from_numpy(r).to(o.device)), dones.append(torch.from_numpy(done).float().to(o.device))
        lengths.extend(finished.tolist())
    next_value = policy(env.observe())[1]
    adv, running = [None] * steps, torch.zeros(env.n, device=env.device)
    for t in reversed(range(steps)):
        alive = 1.0 - dones[t]
        delta = rews[t] + gamma * next_value * alive - vals[t]
        running = delta + gamma * lam * alive * running
        adv[t], next_value = running, vals[t]
    adv = torch.cat(adv)
    batch = dict(obs=torch.cat(obs), act=torch.cat(acts), logp=torch.cat(logps), adv=adv, ret=adv + torch.cat(vals))
    return batch, lengths


def update(model, optimizer, batch, args):
    count = batch["obs"].size(0)
    adv = (batch["adv"] - batch["adv"].mean()) / (batch["adv"].std() + 1e-8)
    epochs_done = 0
    for _ in range(args.update_epochs):
        kls = []
        for idx in torch.randperm(count, device=adv.device).split(args.minibatch):
            logits, value = model(batch["obs"][idx])
            dist_new = Categorical(logits=logits)
            logratio = dist_new.log_prob(batch["act"][idx]) - batch["logp"][idx]
            ratio = logratio.exp()
            a = adv[idx]
            policy_loss = -torch.min(ratio * a, ratio.clamp(1 - args.clip, 1 + args.clip) * a).mean()
            value_loss = 0.5 * (value - batch["ret"][idx]).pow(2).mean()
            loss = policy_loss + args.vf_coef * value_loss - args.ent_coef * dist_new.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            kls.append(((ratio - 1) - logratio).mean().detach())
        epochs_done += 1
        approx_kl = torch.stack(kls).mean()
        if args.target_kl and approx_kl > args.target_kl:
            break
    return epochs_done


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iterations", type=int, default=200)
    p.add_argument("--envs", type=int, default=8)
    p.add_argument("--steps", type=int, default=128)
    p.add_argument("--minibatch", type=int, default=256)
    p.add_argument("--update-epochs", type=int, default=10)
    p.add_argument("--target-kl", type=float, default=0.015)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--clip", type=float, default=0.2)
    p.add_argument("--vf-coef", type=float, default=0.5)
    p.add_argument("--ent-coef", type=float, default=0.01)
    p.add_argument("--gamma", type=float, default=0.99)
    p.add_argument("--lam", type=float, default=0.95)
    p.add_argument("--seed", type=int, default=3)
    p.add_argument("--save", default="ppo.pt")
    args = p.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    torch.manual_seed(args.seed + rank)
    policy = ActorCritic().to(device)
    model = DDP(policy, device_ids=[local_rank] if cuda else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, eps=1e-5)
    env = BalanceEnv(args.envs, seed=args.seed * 1000 + rank, device=device)

    for it in range(args.iterations):
        batch, lengths = rollout(policy, env, args.steps, args.gamma, args.lam)
        epochs_done = update(model, optimizer, batch, args)
        stats = torch.tensor([sum(lengths), len(lengths)], dtype=torch.float64, device=device)
        dist.all_reduce(stats)
        if rank == 0:
            mean = (stats[0] / stats[1].clamp(min=1)).item()
            print(f"iter {it} episode length {mean:.1f} update epochs {epochs_done}", flush=True)
            if it % 20 == 19:
                torch.save(policy.state_dict(), args.save)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
