"""Keyword spotting on synthetic waveforms that survives the loss of a worker.

    python train.py             starts three workers through torchrun --max-restarts 2
    python train.py --worker    is what torchrun starts
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn

STEPS, SAVE_EVERY, WORLD = 80, 10, 3


def launcher():
    state = tempfile.mkdtemp(prefix="wav-")
    env = dict(os.environ, WAV_STATE=state)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={WORLD}",
               "--max-restarts=2", "--monitor-interval=0.5", os.path.abspath(__file__), "--worker"]
    return subprocess.run(command, env=env).returncode


class Store:
    """Checkpoints of rank 0 in a folder that all workers see."""

    def __init__(self, folder):
        self.file = pathlib.Path(folder) / "last.pt"

    def save(self, **state):
        part = self.file.with_suffix(".part")
        torch.save(state, part)
        part.rename(self.file)

    def load(self):
        state = torch.load(self.file) if dist.get_rank() == 0 and self.file.exists() else None
        box = [state]
        dist.broadcast_object_list(box, src=0)
        return box[0]


class Spotter(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, 8, 16, stride=8), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(),
                                 nn.Linear(32, 4))

    def forward(self, wav):
        return self.net(wav)


def utterances(step, rank):
    g = torch.Generator().manual_seed(1000 * step + rank)
    word = torch.randint(0, 4, (8,), generator=g)
    t = torch.linspace(0, 1, 400)
    wav = torch.sin(2 * torch.pi * (20 + 15 * word[:, None]) * t) + 0.3 * torch.randn(8, 400, generator=g)
    return wav[:, None], word


def worker():
    torch.set_num_threads(1)
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    # the agent keeps its store over a restart: keep the attempts' connection keys apart
    keys, rank, world = next(dist.rendezvous("env://"))
    dist.init_process_group("gloo", store=dist.PrefixStore(f"attempt/{attempt}", keys), rank=rank, world_size=world)
    store = Store(os.environ["WAV_STATE"])
    torch.manual_seed(0)
    model = Spotter()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    begin = 0
    if (state := store.load()) is not None:
        model.load_state_dict(state["model"])
        opt.load_state_dict(state["opt"])
        begin = state["step"]
    print(f"[{rank}] attempt {attempt} begins with step {begin}", flush=True)
    for step in range(begin, STEPS):
        # the chaos drill: a worker of the first attempt is lost, as on a preempted node
        if attempt == 0 and rank == 2 and step == 34:
            os._exit(75)
        wav, word = utterances(step, rank)
        loss = nn.functional.cross_entropy(model(wav), word)
        opt.zero_grad()
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= WORLD
        opt.step()
        time.sleep(0.15)
        if (step + 1) % SAVE_EVERY == 0:
            if rank == 0:
                store.save(step=step + 1, model=model.state_dict(), opt=opt.state_dict())
                print(f"step {step + 1} loss {loss.item():.3f}", flush=True)
            dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    if "--worker" in sys.argv:
        worker()
    else:
        sys.exit(launcher())
