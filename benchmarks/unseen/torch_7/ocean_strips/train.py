import sys
import time

import torch
import torch.distributed as dist
from torch import nn

from halo import Strips

SCHEDULE = [           # steps, basin
    (18, "mediterranean"),
    (30, "southern"),
]


def basin(name, rank, size=24):
    g = torch.Generator().manual_seed(sum(map(ord, name)) + rank)
    while True:
        now = torch.randn(2, 1, 12, size, generator=g)
        yield now, 0.9 * now + 0.1 * now.roll(1, 2)


def reduce_mean(parameters):
    handles = [(p, dist.all_reduce(p.grad, async_op=True)) for p in parameters]
    for p, h in handles:
        h.wait()
        p.grad /= dist.get_world_size()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    step_net = nn.Sequential(nn.Conv2d(1, 6, 3, padding=(1, 0)), nn.Tanh(), nn.Conv2d(6, 1, 1))
    opt = torch.optim.SGD(step_net.parameters(), lr=0.02, nesterov=True, momentum=0.9)
    strips = Strips(width=1)
    done = 0
    for steps, name in SCHEDULE:
        strips.periodic = name == "southern"
        for _, (now, later) in zip(range(steps), basin(name, rank)):
            loss = (step_net(strips.pad(now)) - later).square().mean()
            opt.zero_grad()
            loss.backward()
            reduce_mean(step_net.parameters())
            opt.step()
            done += 1
            time.sleep(0.02)
        if rank == 0:
            print(name, done, f"{loss.item():.4f}", file=sys.stderr)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
