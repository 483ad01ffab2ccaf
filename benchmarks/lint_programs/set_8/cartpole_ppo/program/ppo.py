# PPO, data parallel: every process runs its own environments, gradients are averaged.
#   torchrun --nproc_per_node 2 ppo.py --iterations 30
import argparse

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributions import Categorical

from envs import VecCartPole


def mlp(sizes, gain):
    layers = []
    for i in range(len(sizes) - 1):
        lin = nn.Linear(sizes[i], sizes[i + 1])
        nn.init.orthogonal_(lin.weight, gain if i == len(sizes) - 2 else 2 ** 0.5)
        nn.init.zeros_(lin.bias)
        layers += [lin, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = mlp([4, 64, 64, 2], 0.01)
        self.v = mlp([4, 64, 64, 1], 1.0)

    def act(self, obs):
        d = Categorical(logits=self.pi(obs))
        a = d.sample()
        return a, d.log_prob(a), self.v(obs).squeeze(-1)


class Rollout:
    def __init__(self, steps, n):
        self.obs = torch.zeros(steps, n, 4)
        self.act = torch.zeros(steps, n, dtype=torch.long)
        self.logp = torch.zeros(steps, n)
        self.val = torch.zeros(steps, n)
        self.rew = torch.zeros(steps, n)
        self.done = torch.zeros(steps, n)

    def advantages(self, last_val, gamma=0.99, lam=0.95):
        adv = torch.zeros_like(self.rew)
        run = torch.zeros_like(last_val)
        for t in reversed(range(len(self.rew))):
            nonterm = 1.0 - self.done[t]
            delta = self.rew[t] + gamma * last_val * nonterm - self.val[t]
            run = delta + gamma * lam * nonterm * run
            adv[t] = run
            last_val = self.val[t]
        return adv, adv + self.val


class PPO:
    def __init__(self, args, rank, world):
        self.args, self.rank, self.world = args, rank, world
        torch.manual_seed(args.seed)
        self.net = ActorCritic()
        for p in self.net.parameters():
            dist.broadcast(p.data, src=0)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=args.lr, eps=1e-5)
        self.env = VecCartPole(args.num_envs, seed=args.seed + 1000 * rank)
        self.obs = torch.from_numpy(self.env.reset())
        torch.manual_seed(args.seed + rank)

    @torch.no_grad()
    def collect(self):
        a, lengths = self.args, []
        buf = Rollout(a.num_steps, a.num_envs)
        for t in range(a.num_steps):
            action, logp, val = self.net.act(self.obs)
            obs, rew, done, ep_len = self.env.step(action.numpy())
            buf.obs[t], buf.act[t], buf.logp[t], buf.val[t] = self.obs, action, logp, val
            buf.rew[t], buf.done[t] = torch.from_numpy(rew), torch.from_numpy(done.astype(np.float32))
            self.obs = torch.from_numpy(obs)
            lengths += ep_len.tolist()
        return buf, self.net.v(self.obs).squeeze(-1), lengths

    def average_gradients(self):
        grads = [p.grad for p in self.net.parameters()]
        flat = torch.cat([g.reshape(-1) for g in grads])
        dist.all_reduce(flat)
        flat /= self.world
        offset = 0
        for g in grads:
            g.copy_(flat[offset:offset + g.numel()].view_as(g))
            offset += g.numel()

    def loss(self, obs, act, logp_old, adv, ret):
        d = Categorical(logits=self.net.pi(obs))
        logratio = d.log_prob(act) - logp_old
        ratio = logratio.exp()
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        pg = -torch.min(ratio * adv, ratio.clamp(1 - self.args.clip, 1 + self.args.clip) * adv).mean()
        vf = 0.5 * (self.net.v(obs).squeeze(-1) - ret).pow(2).mean()
        with torch.no_grad():
            approx_kl = ((ratio - 1) - logratio).mean()
        return pg + 0.5 * vf - 0.01 * d.entropy().mean(), approx_kl

    def update(self, buf, last_val):
        a = self.args
        adv, ret = buf.advantages(last_val)
        data = [x.flatten(0, 1) for x in (buf.obs, buf.act, buf.logp, adv, ret)]
        n = len(data[0])
        used = 0
        for epoch in range(a.update_epochs):
            for idx in torch.randperm(n).split(n // a.minibatches):
                loss, approx_kl = self.loss(*[x[idx] for x in data])
                self.opt.zero_grad()
                loss.backward()
                self.average_gradients()
                nn.utils.clip_grad_norm_(self.net.parameters(), 0.5)
                self.opt.step()
            used = epoch + 1
            if a.target_kl is not None and approx_kl > a.target_kl:
                break
        return {"loss": loss.item(), "kl": approx_kl.item(), "epochs": used}

    def report(self, it, lengths, info):
        everyone = [None] * self.world
        dist.all_gather_object(everyone, lengths)
        flat = [x for part in everyone for x in part]
        if self.rank == 0:
            mean = sum(flat) / max(1, len(flat))
            print(f"iter {it:3d}  ep_len {mean:6.1f}  loss {info['loss']:.3f}  "
                  f"kl {info['kl']:.4f}  epochs {info['epochs']}", flush=True)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iterations", type=int, default=10)
    ap.add_argument("--num-envs", type=int, default=8)
    ap.add_argument("--num-steps", type=int, default=64)
    ap.add_argument("--update-epochs", type=int, default=6)
    ap.add_argument("--minibatches", type=int, default=4)
    ap.add_argument("--lr", type=float, default=2.5e-3)
    ap.add_argument("--clip", type=float, default=0.2)
    ap.add_argument("--target-kl", type=float, default=0.01)
    ap.add_argument("--seed", type=int, default=7)
    args = ap.parse_args()

    dist.init_process_group("gloo")
    agent = PPO(args, dist.get_rank(), dist.get_world_size())
    for it in range(args.iterations):
        buf, last_val, lengths = agent.collect()
        info = agent.update(buf, last_val)
        agent.report(it, lengths, info)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
