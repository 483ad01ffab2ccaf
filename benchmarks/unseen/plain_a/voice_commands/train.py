"""Voice command classifier. Clips come from an object store that throttles now and then."""
import argparse
import random
import threading
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class SlowDown(OSError):
    """503 of the object store."""


class Bucket:
    """Client of the store; one key range is being moved to other servers for a while."""

    def __init__(self, moving=range(201, 202), refusals=6):
        self.moving, self.refusals = moving, refusals

    def get(self, key):
        if key in self.moving and self.refusals > 0:
            self.refusals -= 1
            raise SlowDown(f"503 slow down: {key}")
        g = torch.Generator().manual_seed(key)
        return torch.randn(20, 30, generator=g) + 0.1 * (key % 5), key % 5


def with_backoff(fetch, key, base=1.0, ceiling=6.0, tries=12):
    for attempt in range(tries):
        try:
            return fetch(key)
        except SlowDown as e:
            wait = min(ceiling, base * 2 ** attempt)
            print(f"{e}, again in {wait:.0f}s", flush=True)
            until = time.monotonic() + wait
            while time.monotonic() < until:
                time.sleep(0.1)
    raise RuntimeError(f"gave up on {key}")


class Commands(Dataset):
    def __init__(self, n=480):
        self.n, self.bucket = n, Bucket()

    def __len__(self):
        return self.n

    def __getitem__(self, key):
        x, y = with_backoff(self.bucket.get, key)
        if random.random() < 0.3:
            x = x.roll(random.randint(-3, 3), -1)
        return x, y


class Heartbeat(threading.Thread):
    """Touches a counter every second, as the cluster's dashboard wants it."""

    def __init__(self):
        super().__init__(daemon=True)
        self.beats, self.stopped = 0, threading.Event()

    def run(self):
        while not self.stopped.wait(1.0):
            self.beats += 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--batch-size", type=int, default=6)
    args = p.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(2)
    pulse = Heartbeat()
    pulse.start()

    data = Commands()
    sampler = DistributedSampler(data, shuffle=False)
    loader = DataLoader(data, args.batch_size, sampler=sampler, num_workers=1, prefetch_factor=2)
    net = nn.Sequential(nn.Conv1d(20, 24, 3), nn.BatchNorm1d(24), nn.ReLU(),
                        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(24, 5))
    model = DistributedDataParallel(net)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for i, (x, y) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0 and i % 10 == 0:
                print(f"epoch {epoch} batch {i} loss {mean.item() / dist.get_world_size():.4f}", flush=True)
    pulse.stopped.set()
    dist.barrier()
    dist.destroy_process_group()
    print(f"rank {rank} done, {pulse.beats} beats", flush=True)


if __name__ == "__main__":
    main()
