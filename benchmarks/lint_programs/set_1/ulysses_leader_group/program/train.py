import argparse
import os
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from metrics import MetricLogger
from model import ByteLM
from topology import Topology


def windows(folder, context, seed):
    books = [np.memmap(p, dtype=np.uint8, mode="r") for p in sorted(Path(folder).glob("*.txt"))]
    books = [b for b in books if len(b) > context + 1]
    rng = np.random.default_rng(seed)
    while True:
        book = books[rng.integers(len(books))]
        at = rng.integers(len(book) - context - 1)
        yield torch.from_numpy(book[at : at + context + 1].astype(np.int64))[None]


def main(a):
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    topo = Topology(a.sp)
    assert a.context % a.sp == 0
    piece = a.context // a.sp

    torch.manual_seed(0)
    model = DDP(ByteLM(topo, context=a.context).cuda(), device_ids=[device.index])
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr)
    log = MetricLogger(topo, a.log_every, a.context)
    # all members of a replica draw the same windows
    stream = windows(a.books, a.context, seed=1 + topo.replica)

    for step in range(a.steps):
        w = next(stream)
        lo = piece * topo.sp_rank
        x = w[:, lo : lo + piece].cuda()
        y = w[:, lo + 1 : lo + piece + 1].cuda()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(x)
        loss = F.cross_entropy(logits.float().flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        log.update(step, loss)

    if topo.rank == 0:
        torch.save(model.module.state_dict(), a.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--books", required=True)
    p.add_argument("--sp", type=int, default=2)
    p.add_argument("--context", type=int, default=32768)
    p.add_argument("--steps", type=int, default=20000)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--log_every", type=int, default=25)
    p.add_argument("--out", default="bytelm.pt")
    main(p.parse_args())
