import argparse
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

from replay import Replay

HORIZONS = {0: 9, 1: 28, 2: 12}          # the maze of worker 1 is the large one


def rollout(rng, length, dim=6):
    state = [rng.random() for _ in range(dim)]
    for _ in range(length):
        nxt = [min(1.0, max(0.0, x + rng.uniform(-0.1, 0.1))) for x in state]
        yield state, rng.randrange(3), sum(nxt) - sum(state), nxt
        state = nxt


def average_gradients(module):
    grads = [p.grad for p in module.parameters()]
    flat = _flatten_dense_tensors(grads)
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for g, mean in zip(grads, _unflatten_dense_tensors(flat, grads)):
        g.copy_(mean)


def td_loss(q, rows, gamma=0.97):
    s, a, r, n = (torch.tensor(x) for x in zip(*rows))
    with torch.no_grad():
        target = r + gamma * q(n).amax(1)
    return nn.functional.smooth_l1_loss(q(s).gather(1, a[:, None])[:, 0], target)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=60)
    ap.add_argument("--memory", type=int, default=750)
    args = ap.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    rng = random.Random(1000 + rank)
    torch.manual_seed(7)
    q = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 3))
    opt = torch.optim.RMSprop(q.parameters(), lr=3e-4)
    memory = Replay(args.memory)
    for update in range(args.updates):
        memory.extend(rollout(rng, HORIZONS[rank]))
        opt.zero_grad()
        loss = td_loss(q, memory.draw(8, rng))
        loss.backward()
        average_gradients(q)
        opt.step()
        time.sleep(0.02)
        if update % 10 == 0:
            print(f"[{rank}] update {update} memory {len(memory)} loss {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
