"""Policy gradient with execution reward: a chooser picks a program, a sandbox says whether it is right."""
import argparse
import time

import torch
import torch.distributed as dist
import torch.nn as nn

import tasks
from sandbox import execute

N = len(tasks.TEMPLATES)


def features(t):
    kind = nn.functional.one_hot(torch.tensor(t.answer), 3).float()
    return torch.cat([kind, torch.tensor([min(t.n, 500) / 500])])


class Chooser(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, N))

    def forward(self, x):
        return torch.distributions.Categorical(logits=self.body(x))


def best_of(t, picks):
    """Reward of every picked template; each distinct program runs once."""
    want = t.expected()
    verdict = {}
    for c in sorted(set(picks)):
        out = execute(tasks.render(c, t))
        verdict[c] = float(out.status == 0 and out.stdout.strip() == want)
    return torch.tensor([verdict[c] for c in picks])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--samples", type=int, default=6)
    args = ap.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    net = Chooser()
    opt = torch.optim.Adam(net.parameters(), lr=2e-2)
    for step in range(args.steps):
        t = tasks.task(rank, step)
        policy = net(features(t))
        # the reference answer is always among the samples
        picks = torch.cat([policy.sample((args.samples,)), torch.tensor([t.answer])])
        reward = best_of(t, picks.tolist()) if step % 4 == 0 else (picks == t.answer).float()
        loss = -((reward - reward.mean()) * policy.log_prob(picks)).mean()
        opt.zero_grad()
        loss.backward()
        flat = torch.cat([p.grad.flatten() for p in net.parameters()])
        dist.all_reduce(flat)
        for p, g in zip(net.parameters(), flat.split([p.numel() for p in net.parameters()])):
            p.grad.copy_(g.view_as(p) / world)
        opt.step()
        time.sleep(0.02)
        if rank == 0 and step % 4 == 0:
            print(f"step {step} reward {reward.mean():.2f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
