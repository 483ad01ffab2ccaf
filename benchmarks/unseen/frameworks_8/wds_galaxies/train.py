"""Galaxy morphology from WebDataset shards with DDP."""
import contextlib
import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from shards import build, pipeline


@contextlib.contextmanager
def process_group():
    dist.init_process_group("gloo")
    try:
        yield dist.get_rank()
    finally:
        dist.destroy_process_group()


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 2))


class Morphology:
    def __init__(self, rank):
        self.rank = rank
        self.model = DistributedDataParallel(make_model())
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.sched = torch.optim.lr_scheduler.StepLR(self.opt, 1, 0.7)

    def run_epoch(self, loader):
        n = 0
        for image, cls in loader:
            image, cls = torch.as_tensor(image), torch.as_tensor(cls)
            loss = nn.functional.cross_entropy(self.model(image), cls)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            time.sleep(0.03)
            n += 1
        return n

    def checkpoint(self, folder, epoch):
        if self.rank == 0:
            torch.save(self.model.module.state_dict(), os.path.join(folder, f"epoch{epoch}.pt"))
        dist.barrier()


def main(epochs=4, batch=8):
    torch.set_num_threads(1)
    with process_group() as rank:
        folder = os.path.join(tempfile.gettempdir(), f"plates_{os.environ['MASTER_PORT']}_{rank}")
        loader = pipeline(build(folder), batch)
        work = Morphology(rank)
        for epoch in range(epochs):
            n = work.run_epoch(loader)
            work.sched.step()
            print(f"rank {rank} epoch {epoch}: {n} batches", flush=True)
            work.checkpoint(folder, epoch)


if __name__ == "__main__":
    main()
