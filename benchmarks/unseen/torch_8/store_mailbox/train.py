"""Word-spotting model; one process validates between two halves of training, the others look into the store."""
import os
import socket
import threading
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

WORLD = 3
JUDGE = 2


class Mailbox:
    """Small messages between ranks without a collective."""

    def __init__(self, store):
        self.store = store

    def post(self, subject, text):
        self.store.set(subject, text)

    def poll(self, subject, pause=0.2):
        while not self.store.check([subject]):
            time.sleep(pause)
        return self.store.get(subject).decode()


def validate(net, result, clips=190):
    gen = torch.Generator().manual_seed(1)
    hits = 0
    with torch.no_grad():
        for _ in range(clips):
            x = torch.randn(1, 40, generator=gen)
            hits += int(net(x).argmax(1).item() == int(x.sum() > 0))
            time.sleep(0.1)
    result["accuracy"] = hits / clips


def half(model, opt, rank, offset, steps=25):
    for i in range(steps):
        g = torch.Generator().manual_seed(1000 * rank + offset + i)
        x = torch.randn(8, 40, generator=g)
        loss = nn.functional.cross_entropy(model(x), (x.sum(1) > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.02)
    return loss.item()


def render(lines, path):
    with open(path, "w") as f:
        for page in range(60):
            f.write(f"<p>{page}: {lines[page % len(lines)]}</p>\n")
            f.flush()
            time.sleep(0.15)


def worker(rank, port):
    torch.set_num_threads(1)
    store = dist.TCPStore("127.0.0.1", port, WORLD, rank == 0, timeout=timedelta(minutes=10))
    dist.init_process_group("gloo", store=dist.PrefixStore("pg", store), rank=rank, world_size=WORLD)
    mailbox = Mailbox(dist.PrefixStore("mail", store))
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(40, 16), nn.ReLU(), nn.Linear(16, 2)))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    lines = [f"first half {half(model, opt, rank, 0):.3f}"]
    if rank == JUDGE:
        result = {}
        t = threading.Thread(target=validate, args=(model.module, result))
        t.start()
        t.join()
        mailbox.post("accuracy", str(result["accuracy"]))
    lines.append("accuracy " + mailbox.poll("accuracy"))
    lines.append(f"second half {half(model, opt, rank, 500):.3f}")
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        render(lines, f"/tmp/word_spotting_{os.getpid()}.html")
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, args=(port,), nprocs=WORLD)
