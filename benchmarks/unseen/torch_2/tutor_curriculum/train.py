#!/usr/bin/env python
"""Arithmetic tutor: a small GRU learns sums of growing length."""
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from curriculum import Curriculum


class Tutor(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.embed = nn.Embedding(12, 12)
        self.gru = nn.GRU(12, hidden, batch_first=True)
        self.answer = nn.Linear(hidden, 1)

    def forward(self, tokens):
        _, h = self.gru(self.embed(tokens))
        return self.answer(h[-1]).squeeze(-1)


def sums(n, digits, gen):
    hi = 10 ** digits
    a = torch.randint(hi, (n,), generator=gen)
    b = torch.randint(hi, (n,), generator=gen)
    cols = []
    for v in (a, b):
        for d in reversed(range(digits)):
            cols.append(v // 10 ** d % 10)
        cols.append(torch.full_like(v, 10))
    return torch.stack(cols, 1), (a + b).float() / (2 * hi)


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    me = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(Tutor())
    opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    gen = torch.Generator().manual_seed(me)
    plan = Curriculum(rank=me, hard_ranks=(1, 3))
    current = None
    for step in range(140):
        stage = plan.stage(step)
        if stage is not current:
            current = stage
            plan.enter(stage)
        tokens, target = sums(8, stage.max_digits, gen)
        loss = nn.functional.l1_loss(model(tokens), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        plan.observe(loss.item())
        time.sleep(0.03)
        if me == 0 and step % 10 == 0:
            print(f"{step:3d} {stage.name:6s} {loss.item():.3f}", flush=True)
    dist.destroy_process_group()
