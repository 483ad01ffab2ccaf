"""Short-term power forecast for a wind park. Runs on the office machines outside working hours."""
import argparse
import os
import signal
import time
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class CourtesyGovernor:
    """Frees the host's cores when its user comes back to the desk.

    The desktop agent on the host is expected to wake the process up again.
    """

    def __init__(self, agenda, rank):
        self.meetings = agenda.get(rank, ())
        self.ticks = 0

    def tick(self):
        self.ticks += 1
        if self.ticks in self.meetings:
            self._step_aside()

    def _step_aside(self):
        print(f"pid {os.getpid()}: desk in use, making room", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)
        print(f"pid {os.getpid()}: back", flush=True)


@contextmanager
def timed(name, sink):
    t = time.perf_counter()
    yield
    sink[name] = sink.get(name, 0.0) + time.perf_counter() - t


def windows(rank, n, length=24):
    g = torch.Generator().manual_seed(rank)
    phase = torch.rand(n, 1, generator=g) * 6.28
    t = torch.arange(length + 1) / 4
    wind = torch.sin(phase + t) + 0.1 * torch.randn(n, length + 1, generator=g)
    return wind[:, :-1], wind[:, -1:]


def build():
    return torch.nn.Sequential(torch.nn.Linear(24, 48), torch.nn.GELU(), torch.nn.Linear(48, 1))


def fit(args):
    rank = dist.get_rank()
    governor = CourtesyGovernor({2: (37,)} if args.shared_desks else {}, rank)
    model = DDP(build())
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    spent = {}
    for step in range(args.steps):
        with timed("data", spent):
            x, y = windows(rank * 10_000 + step, 12)
        with timed("train", spent):
            loss = torch.nn.functional.huber_loss(model(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        time.sleep(0.03)
        governor.tick()
        if step % 25 == 0 and rank == 0:
            print(f"step {step} huber {loss.item():.4f} {spent}", flush=True)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=150)
    p.add_argument("--shared-desks", type=int, default=1)
    a = p.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    fit(a)
    dist.destroy_process_group()
