"""Dialect of radio speakers. A thread of every rank tells how far the rank is."""

import argparse
import datetime
import os
import tempfile
import threading
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from prepare import statistics


class Heartbeat:
    """Every rank writes its step to the store now and then; rank 0 prints the table from a thread."""

    def __init__(self, store, interval=2.0):
        self.store, self.interval = store, interval
        self.step = 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._loop, daemon=True)
        self.thread.start()

    def _loop(self):
        rank, world = dist.get_rank(), dist.get_world_size()
        while not self.stop.wait(self.interval):
            self.store.set(f"step/{rank}", str(self.step))
            if rank == 0:
                keys = [f"step/{r}" for r in range(world)]
                steps = [self.store.get(k).decode() if self.store.check([k]) else "-" for k in keys]
                print("steps", *steps, flush=True)

    def close(self):
        self.stop.set()
        self.thread.join()


def utterances(count, stats):
    g = torch.Generator().manual_seed(12)
    dialect = torch.randint(5, (count,), generator=g)
    x = torch.randn(count, 20, generator=g) + nn.functional.one_hot(dialect, 20)
    return TensorDataset((x - stats["mean"]) / stats["std"], dialect)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=int, default=180)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--pause", type=float, default=5.0, help="between epochs, for the other jobs of the machine")
    args = parser.parse_args()
    torch.set_num_threads(1)
    folder = Path(tempfile.gettempdir()) / f"dialects-{os.getppid()}"
    folder.mkdir(exist_ok=True)
    stats = statistics(folder, args.hours)
    dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=5))
    world = dist.get_world_size()
    store = dist.TCPStore(
        "127.0.0.1", int(os.environ["MASTER_PORT"]), world, False, timeout=datetime.timedelta(seconds=60)
    )
    heartbeat = Heartbeat(dist.PrefixStore("heartbeat", store))
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 5)))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    data = utterances(800, stats)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, args.batch_size, sampler=sampler)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            heartbeat.step += 1
            time.sleep(0.03)
        time.sleep(args.pause)
    heartbeat.close()
    dist.barrier()
    if dist.get_rank() == 0:
        print(f"loss of the last batch {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
