import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributions import Categorical
from torch.nn.parallel import DistributedDataParallel as DDP

from env import CartPole


class ActorCritic(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.pi, self.v = nn.Linear(hidden, 2), nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.body(x)
        return self.pi(h), self.v(h).squeeze(-1)


class Stats:
    """Episode statistics over all processes."""

    def __init__(self, world):
        self.world = world

    def mean(self, values):
        parts = [None] * self.world
        dist.all_gather_object(parts, values)
        merged = [v for part in parts for v in part]
        return sum(merged) / max(len(merged), 1)


class Worker:
    def __init__(self, args, device, rank):
        self.args, self.device, self.rank = args, device, rank
        self.env = CartPole(args.envs, seed=args.seed + 1000 * rank)
        self.net = DDP(ActorCritic().to(device), device_ids=[device.index] if device.type == "cuda" else None)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=args.lr)
        self.stats = Stats(dist.get_world_size())

    @torch.no_grad()
    def rollout(self):
        buf, finished = [], []
        obs = self.env.obs()
        for _ in range(self.args.horizon):
            logits, value = self.net.module(obs.to(self.device))
            dist_a = Categorical(logits=logits)
            act = dist_a.sample()
            nxt, rew, done, lengths = self.env.step(act.cpu())
            buf.append((obs.to(self.device), act, dist_a.log_prob(act), value,
                        rew.to(self.device), done.to(self.device)))
            finished += lengths
            obs = nxt
        _, last = self.net.module(obs.to(self.device))
        o, a, lp, v, r, d = (torch.stack(t) for t in zip(*buf))
        adv, gae = torch.zeros_like(r), torch.zeros_like(last)
        for t in reversed(range(self.args.horizon)):
            nv = last if t == self.args.horizon - 1 else v[t + 1]
            delta = r[t] + self.args.gamma * nv * (1 - d[t]) - v[t]
            gae = delta + self.args.gamma * 0.95 * (1 - d[t]) * gae
            adv[t] = gae
        flat = [t.flatten(0, 1) for t in (o, a, lp, adv, adv + v)]
        return flat, finished

    def update(self, batch):
        o, a, old_lp, adv, ret = batch
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(self.args.ppo_epochs):
            for idx in torch.randperm(len(o), device=self.device).chunk(self.args.minibatches):
                logits, v = self.net(o[idx])
                d = Categorical(logits=logits)
                ratio = (d.log_prob(a[idx]) - old_lp[idx]).exp()
                clipped = ratio.clamp(1 - self.args.clip, 1 + self.args.clip)
                loss = -torch.min(ratio * adv[idx], clipped * adv[idx]).mean()
                loss = loss + 0.5 * (v - ret[idx]).pow(2).mean() - 0.01 * d.entropy().mean()
                self.opt.zero_grad(set_to_none=True)
                loss.backward()
                nn.utils.clip_grad_norm_(self.net.parameters(), 0.5)
                self.opt.step()

    def report(self, it, finished):
        if not finished:
            return
        length = self.stats.mean(finished)
        if self.rank == 0:
            print(f"iteration {it} step {(it + 1) * self.args.horizon} mean episode length {length:.1f}", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iterations", type=int, default=200)
    p.add_argument("--envs", type=int, default=4)
    p.add_argument("--horizon", type=int, default=32)
    p.add_argument("--ppo-epochs", type=int, default=4)
    p.add_argument("--minibatches", type=int, default=4)
    p.add_argument("--gamma", type=float, default=0.99)
    p.add_argument("--clip", type=float, default=0.2)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(args.seed + rank)  # actions differ per process, DDP aligns the weights

    worker = Worker(args, device, rank)
    for it in range(args.iterations):
        batch, finished = worker.rollout()
        worker.update(batch)
        worker.report(it, finished)

    if rank == 0:
        torch.save(worker.net.module.state_dict(), "ppo.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
