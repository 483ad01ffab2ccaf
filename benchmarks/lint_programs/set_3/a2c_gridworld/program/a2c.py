import argparse
import random

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]


class GridWorld:
    def __init__(self, size=6, seed=0):
        self.size = size
        self.rng = random.Random(seed)
        self.reset()

    def reset(self):
        self.pos = [self.rng.randrange(self.size), self.rng.randrange(self.size)]
        self.goal = [self.rng.randrange(self.size), self.rng.randrange(self.size)]
        self.t = 0
        return self.obs()

    def obs(self):
        return [c / self.size for c in (*self.pos, *self.goal)]

    def step(self, a):
        if self.rng.random() < 0.1:  # sticky floor
            a = self.rng.randrange(4)
        for i in range(2):
            self.pos[i] = min(self.size - 1, max(0, self.pos[i] + MOVES[a][i]))
        self.t += 1
        done = self.pos == self.goal or self.t >= 40
        r = 1.0 if self.pos == self.goal else -0.02
        return (self.reset() if done else self.obs()), r, done


class Net(nn.Module):
    def __init__(self, hid=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, hid), nn.Tanh(), nn.Linear(hid, hid), nn.Tanh())
        self.pi, self.v = nn.Linear(hid, 4), nn.Linear(hid, 1)

    def forward(self, x):
        h = self.body(x)
        return self.pi(h), self.v(h).squeeze(-1)


def seed_all(seed):
    random.seed(seed)
    torch.manual_seed(seed)


def collect(net, envs, obs, n):
    O, A, R, D = [], [], [], []
    with torch.no_grad():
        for _ in range(n):
            logits, _ = net(obs)
            a = torch.distributions.Categorical(logits=logits).sample()
            steps = [e.step(int(k)) for e, k in zip(envs, a)]
            O.append(obs); A.append(a)
            R.append(torch.tensor([s[1] for s in steps]))
            D.append(torch.tensor([float(s[2]) for s in steps]))
            obs = torch.tensor([s[0] for s in steps])
        ret = net(obs)[1]
    rets = []
    for r, d in zip(reversed(R), reversed(D)):
        ret = r + 0.97 * ret * (1 - d)
        rets.append(ret)
    return obs, torch.cat(O), torch.cat(A), torch.cat(rets[::-1]), torch.stack(R).mean()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--updates", type=int, default=3000)
    p.add_argument("--envs-per-rank", type=int, default=32)
    p.add_argument("--n-steps", type=int, default=8)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--ent", type=float, default=0.01)
    p.add_argument("--seed", type=int, default=11)
    p.add_argument("--debug", action="store_true")
    args = p.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    seed_all(args.seed)
    net = DDP(Net())
    opt = torch.optim.RMSprop(net.parameters(), lr=args.lr)

    envs = [GridWorld(seed=args.seed * 10_007 + i) for i in range(args.envs_per_rank)]
    obs = torch.tensor([e.reset() for e in envs])

    for u in range(args.updates):
        obs, o, a, ret, rew = collect(net.module, envs, obs, args.n_steps)
        if args.debug:
            print(f"[{rank}] u{u} obs {o.double().sum().item():.6f} act {a.sum().item()}", flush=True)
        logits, v = net(o)
        pi = torch.distributions.Categorical(logits=logits)
        adv = (ret - v).detach()
        loss = -(pi.log_prob(a) * adv).mean() + 0.5 * (ret - v).pow(2).mean() - args.ent * pi.entropy().mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        opt.step()
        if u % 50 == 0:
            dist.all_reduce(rew)
            if rank == 0:
                print(f"update {u} reward/step {rew.item() / world:.4f} "
                      f"frames {(u + 1) * world * args.envs_per_rank * args.n_steps}", flush=True)

    if rank == 0:
        torch.save(net.module.state_dict(), "a2c.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
