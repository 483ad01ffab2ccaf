import argparse
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP

from gauges import sink_for


def slides(rank, n, size=20):
    g = torch.Generator().manual_seed(rank)
    for _ in range(n):
        img = torch.rand(4, 1, size, size, generator=g)
        yield img, (img > 0.9).flatten(1).sum(1, keepdim=True) / 10.0


def counter():
    c = torch.nn
    return c.Sequential(c.Conv2d(1, 4, 3), c.ReLU(), c.AvgPool2d(6), c.Flatten(), c.Linear(36, 1))


def worker(rank, world, rendezvous, opts):
    dist.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=world)
    torch.manual_seed(0)
    sink = sink_for(rank, opts.station)
    try:
        ddp = DDP(counter())
        opt = torch.optim.SGD(ddp.parameters(), lr=0.01)
        for i, (img, grains) in enumerate(slides(rank, opts.slides)):
            loss = torch.nn.functional.smooth_l1_loss(ddp(img), grains)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sink.write({"slide": i, "loss": loss.item()})
            time.sleep(0.02)
        dist.barrier()
    finally:
        sink.close()
        dist.destroy_process_group()
    print(f"worker {rank}: {opts.slides} slides", flush=True)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--slides", type=int, default=45)
    p.add_argument("--world", type=int, default=3)
    p.add_argument("--station", type=int, default=1)
    o = p.parse_args()
    import tempfile
    meeting = "file://" + tempfile.mktemp(prefix="pollen-rdzv")
    mp.spawn(worker, args=(o.world, meeting, o), nprocs=o.world)
