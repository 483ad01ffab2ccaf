"""Supervisor that restarts a spawned job from its last checkpoint after a failure."""
import argparse
import os
import socket
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WORLD = 3


def pick_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Checkpoint:
    def __init__(self, folder):
        self.path = os.path.join(folder, "last.pt")

    def save(self, step, model, opt):
        tmp = self.path + ".tmp"
        torch.save({"step": step, "model": model.module.state_dict(), "opt": opt.state_dict()}, tmp)
        os.replace(tmp, self.path)

    def load(self, model, opt):
        if not os.path.exists(self.path):
            return 0
        state = torch.load(self.path, weights_only=True)
        model.module.load_state_dict(state["model"])
        opt.load_state_dict(state["opt"])
        return state["step"]


def reading(rank, step, attempt):
    """A gateway of the second site drops its connection once."""
    if attempt == 0 and rank == 1 and step == 70:
        raise ConnectionResetError("gateway closed the stream")
    g = torch.Generator().manual_seed(step * WORLD + rank)
    x = torch.randn(8, 6, generator=g)
    return x, x.sum(1, keepdim=True)


def job(rank, port, folder, steps, attempt):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=WORLD)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1)))
    opt = torch.optim.Adam(model.parameters(), 1e-2)
    ckpt = Checkpoint(folder)
    start = ckpt.load(model, opt)
    dist.barrier()
    for step in range(start, steps):
        x, y = reading(rank, step, attempt)
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.12)
        if (step + 1) % 25 == 0:
            if rank == 0:
                ckpt.save(step + 1, model, opt)
                print(f"attempt {attempt} step {step + 1} loss {loss.item():.4f}", flush=True)
            dist.barrier()
    dist.destroy_process_group()


def supervise(args):
    folder = tempfile.mkdtemp(prefix="supervised_")
    for attempt in range(args.attempts):
        try:
            mp.spawn(job, args=(pick_port(), folder, args.steps, attempt), nprocs=WORLD, join=True)
            return 0
        except (mp.ProcessRaisedException, mp.ProcessExitedException) as err:
            print(f"attempt {attempt} failed: {str(err).strip().splitlines()[-1]}", flush=True)
            time.sleep(args.backoff * (attempt + 1))
    return 1


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=175)
    ap.add_argument("--attempts", type=int, default=3)
    ap.add_argument("--backoff", type=float, default=5.0)
    sys.exit(supervise(ap.parse_args()))
