import os
import socket
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from lease import Lease


def simulate(rank, rounds):
    gen = torch.Generator().manual_seed(rank + 10 * rounds)
    time.sleep(3.5)
    return torch.randn(20, 8, 6, generator=gen)


def worker(rank, world, port, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    policy = DistributedDataParallel(nn.Linear(6, 2))
    optim = torch.optim.SGD(policy.parameters(), lr=0.01)
    for rounds in range(2):
        with Lease(os.path.join(folder, "seat")):
            states = simulate(rank, rounds)
        for batch in states:
            loss = (policy(batch) - batch[:, :2]).square().mean()
            optim.zero_grad()
            loss.backward()
            optim.step()
            time.sleep(0.02)
        if rank == 0:
            print("round", rounds, loss.item(), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(worker, (3, port, tempfile.mkdtemp(prefix="seat-")), nprocs=3)
