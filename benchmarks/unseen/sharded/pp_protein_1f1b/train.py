"""Protein property regression on a three-stage pipeline with batch-size ramp-up."""
import os
import socket
import time

import torch
import torch.nn as nn
import torch.distributed as dist
import torch.multiprocessing as mp

from p2p import Neighbours
from schedule import OneForwardOneBackward

STAGES = 3
MICRO, DIM = 4, 24
RAMP_UP = ((0, 1), (18, 2), (40, 4))  # (from step, micro-batches per step)


class Feed:
    def __init__(self):
        self.w = torch.linspace(-1, 1, DIM)
        self.gx = torch.Generator().manual_seed(0)
        self.gy = torch.Generator().manual_seed(0)

    def inputs(self):
        return torch.randn(MICRO, DIM, generator=self.gx)

    def targets(self):
        return torch.randn(MICRO, DIM, generator=self.gy) @ self.w


class Tail(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(DIM, 1)

    def forward(self, x):
        return self.out(x).squeeze(-1)


def micro_batches_at(step):
    return [n for start, n in RAMP_UP if step >= start][-1]


def stage(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=STAGES)
    torch.manual_seed(rank)
    module = Tail() if rank == STAGES - 1 else nn.Sequential(nn.Linear(DIM, DIM), nn.Tanh())
    optim = torch.optim.Adam(module.parameters(), lr=2e-3)
    pipe = OneForwardOneBackward(module, Neighbours((MICRO, DIM)), Feed(), nn.MSELoss())

    for step in range(120):
        loss = pipe.run(micro_batches_at(step))
        optim.step()
        optim.zero_grad()
        time.sleep(0.02)
        if pipe.link.last and step % 10 == 0:
            print(f"step {step} loss {loss:.4f}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(stage, args=(port,), nprocs=STAGES)
