"""Dialogue LM on spot nodes: a notice on any node makes the whole job save and leave together."""
import pathlib
import signal
import subprocess
import tempfile
import threading
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from notice import NodeAgent, StopRequest


class TurnModel(nn.Module):
    def __init__(self, vocab=70, dim=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)
        self.act = nn.Linear(dim, 4)

    def forward(self, ids):
        h, last = self.gru(self.emb(ids))
        return self.out(h), self.act(last[-1])


def turns(rank):
    g = torch.Generator().manual_seed(rank)
    while True:
        yield torch.randint(70, (6, 16), generator=g), torch.randint(4, (6,), generator=g)


def save(model, opt, step, folder):
    torch.save({"model": model.module.state_dict(), "opt": opt.state_dict(), "step": step}, folder / "requeue.pt")


def main(max_steps=900, notice_after=9.0, notice_rank=1):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(33)
    torch.set_num_threads(1)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"node{rank}-"))
    stop = StopRequest(signal.SIGUSR1)
    agent = NodeAgent(folder / "notice")
    agent.start()
    model = DDP(TurnModel())
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    cloud = None
    if rank == notice_rank:          # the provider's notice, as in the staging tests
        cloud = subprocess.Popen(["sh", "-c", f"sleep {notice_after}; touch {folder}/notice"])

    for step, (ids, acts) in enumerate(turns(rank)):
        lm, act = model(ids[:, :-1])
        loss = nn.functional.cross_entropy(lm.flatten(0, 1), ids[:, 1:].flatten()) \
            + 0.5 * nn.functional.cross_entropy(act, acts)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        time.sleep(0.05)
        flag = torch.tensor([int(stop.requested)], dtype=torch.int32)
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        if rank == 0 and step % 25 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
        if flag.item() or step + 1 >= max_steps:
            if rank == 0:
                save(model, opt, step, folder)
            dist.barrier()
            break
    agent.stop()
    if cloud is not None:
        cloud.wait()
    dist.destroy_process_group()
    if rank == 0:
        report(folder, step)


def report(folder, step, pages=40):
    """A page per section for the requeue ticket."""
    with open(folder / "ticket.txt", "w") as f:
        for page in range(pages):
            f.write(f"section {page}: stopped at step {step}, threads {threading.active_count()}\n")
            f.flush()
            time.sleep(0.3)
    print("ticket written", flush=True)


if __name__ == "__main__":
    main()
