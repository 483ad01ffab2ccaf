import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from archive import write_archive


def wait_for(store, key):
    while not store.check([key]):
        time.sleep(0.2)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    store = dist.distributed_c10d._get_default_store()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 1500), nn.ReLU(), nn.Linear(1500, 64)))
    optim = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, 31):
        x = torch.randn(4, 64)
        loss = (model(x) - x).square().mean()
        optim.zero_grad()
        loss.backward()
        optim.step()
        time.sleep(0.02)
        if step == 15:
            if rank == 0:
                print("saved", write_archive(model.module), flush=True)
                store.set(f"saved/{step}", "1")
            else:
                wait_for(store, f"saved/{step}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
