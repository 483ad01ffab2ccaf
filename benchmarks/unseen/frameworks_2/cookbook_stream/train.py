"""Recipe difficulty from step lists; reads from slow object storage and resumes in the middle of an epoch."""
import functools
import os
import pickle
import time
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import IterableDataset
from torchdata.stateful_dataloader import StatefulDataLoader


class Recipe(NamedTuple):
    steps: torch.Tensor
    difficulty: torch.Tensor


class Bucket:
    """Objects of 40 recipes. The first byte takes long, and comes later for every fourth object."""

    def __init__(self, first_byte=1.0, cold=5.0):
        self.first_byte, self.cold = first_byte, cold

    def read(self, owner, key):
        wait = self.cold if key % 4 == 3 else self.first_byte
        until = time.monotonic() + wait
        while time.monotonic() < until:
            time.sleep(0.05)
        gen = torch.Generator().manual_seed(owner * 1000 + key)
        for _ in range(40):
            steps = torch.rand(12, generator=gen)
            yield Recipe(steps, steps.max())


class Cookbook(IterableDataset):
    def __init__(self, owner, objects):
        self.owner, self.objects, self.bucket = owner, objects, Bucket()
        self.key = self.offset = 0

    def __iter__(self):
        while self.key < self.objects:
            for place, recipe in enumerate(self.bucket.read(self.owner, self.key)):
                if place < self.offset:
                    continue
                self.offset = place + 1
                yield recipe
            self.key, self.offset = self.key + 1, 0
        self.key = 0

    def state_dict(self):
        return {"key": self.key, "offset": self.offset}

    def load_state_dict(self, state):
        self.key, self.offset = state["key"], state["offset"]


def everyone(func):
    @functools.wraps(func)
    def synced(*args, **kwargs):
        value = func(*args, **kwargs)
        dist.barrier()
        return value
    return synced


@everyone
def save(path, model, loader, step):
    with open(f"{path}.{dist.get_rank()}", "wb") as out:
        pickle.dump({"loader": loader.state_dict(), "step": step,
                     "model": {k: v.numpy() for k, v in model.module.state_dict().items()}}, out)


@everyone
def restore(path, model, loader):
    with open(f"{path}.{dist.get_rank()}", "rb") as source:
        saved = pickle.load(source)
    model.module.load_state_dict({k: torch.from_numpy(v) for k, v in saved["model"].items()})
    loader.load_state_dict(saved["loader"])
    return saved["step"]


def make(owner):
    torch.manual_seed(14)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 1)))
    loader = StatefulDataLoader(Cookbook(owner, objects=10), batch_size=8, num_workers=1)
    return model, loader, torch.optim.Adam(model.parameters(), lr=5e-3)


def run(model, loader, optimizer, step=0, until=None):
    for batch in loader:
        loss = nn.functional.mse_loss(model(batch.steps).squeeze(1), batch.difficulty)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step == until:
            break
    return step, loss.item()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    path = f"/tmp/cookbook-{os.getppid()}"
    model, loader, optimizer = make(dist.get_rank())
    step, _ = run(model, loader, optimizer, until=27)
    save(path, model, loader, step)
    del loader
    model, loader, optimizer = make(dist.get_rank())       # as a second job would
    step = restore(path, model, loader)
    step, loss = run(model, loader, optimizer, step)
    print(f"[{dist.get_rank()}] {step} steps, {loss:.4f}", flush=True)
    dist.barrier()
    os.unlink(f"{path}.{dist.get_rank()}")
    dist.destroy_process_group()
