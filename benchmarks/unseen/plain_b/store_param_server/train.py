"""Logistic regression with a parameter server whose messages travel through a TCPStore.

Rank 0 serves, ranks 1.. are workers.  Started as  python train.py  on one host.
"""
import io
import multiprocessing as mp
import socket
import time
from datetime import timedelta

import torch
import torch.distributed as dist

from records import WIDTH, Shard

WORLD, STEPS, BATCH = 4, 40, 8
PATIENCE = timedelta(hours=2)


def pack(obj):
    buf = io.BytesIO()
    torch.save(obj, buf)
    return buf.getvalue()


def unpack(raw):
    return torch.load(io.BytesIO(raw))


def model():
    torch.manual_seed(11)
    return torch.nn.Sequential(torch.nn.Linear(WIDTH, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))


class Server:
    def __init__(self, store):
        self.store = store
        self.net = model()
        self.opt = torch.optim.Adagrad(self.net.parameters(), lr=0.05)

    def serve(self):
        for step in range(STEPS):
            self.store.set(f"weights/{step}", pack(self.net.state_dict()))
            keys = [f"grads/{step}/{w}" for w in range(1, WORLD)]
            self.store.wait(keys, PATIENCE)
            pushed = [unpack(self.store.get(k)) for k in keys]
            for i, p in enumerate(self.net.parameters()):
                p.grad = torch.stack([g[i] for g in pushed]).mean(0)
            self.opt.step()
            for k in keys:
                self.store.delete_key(k)
            if step % 5 == 0:
                print(f"[server] step {step}", flush=True)


class Worker:
    def __init__(self, store, rank):
        self.store, self.rank = store, rank
        self.shard = Shard(rank)
        self.net = model()

    def work(self):
        for step in range(STEPS):
            self.net.load_state_dict(unpack(self.store.get(f"weights/{step}")))
            labels, rows = self.shard.batch(step, BATCH)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                self.net(torch.tensor(rows)).squeeze(1), torch.tensor(labels, dtype=torch.float32))
            grads = torch.autograd.grad(loss, list(self.net.parameters()))
            time.sleep(0.03)
            self.store.set(f"grads/{step}/{self.rank}", pack(list(grads)))


def entry(rank, port):
    torch.set_num_threads(1)
    store = dist.TCPStore("127.0.0.1", port, WORLD, is_master=rank == 0, timeout=PATIENCE)
    dist.init_process_group("gloo", store=dist.PrefixStore("group", store), rank=rank, world_size=WORLD)
    mail = dist.PrefixStore("mail", store)
    if rank == 0:
        Server(mail).serve()
    else:
        Worker(mail, rank).work()
    dist.barrier()
    dist.destroy_process_group()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    ctx, port = mp.get_context("spawn"), free_port()
    procs = [ctx.Process(target=entry, args=(r, port), name=f"rank{r}") for r in range(WORLD)]
    for p in procs:
        p.start()
    for p in procs:
        p.join()
