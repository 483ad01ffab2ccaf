"""Action recognition on packed clips, multi-process launcher of its own."""
import os
import socket
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from clips import ClipStream


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.temporal = nn.Conv1d(3, 16, 3, padding=1)
        self.fc = nn.Linear(16, 4)

    def forward(self, x):
        return self.fc(self.temporal(x).relu().mean(-1))


def worker(rank, world, port, epochs):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = DDP(Head())
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    crit = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        loader = DataLoader(ClipStream(rank, world), batch_size=4, num_workers=1, drop_last=True)
        running = 0.0
        for i, (clip, label) in enumerate(loader, 1):
            loss = crit(model(clip), label)
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
            time.sleep(0.02)
        dist.barrier()
        if rank == 0:
            print(f"epoch {epoch}: {running / i:.3f} over {i} batches", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(worker, args=(2, free_port(), 3), nprocs=2, join=True)
