"""Tide forecast with torchdata's StatefulDataLoader; the state of the loader is kept with the weights."""
import os
import signal
import tempfile
import threading
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torchdata.stateful_dataloader import StatefulDataLoader

from reader import TideGauges

dump_requested = threading.Event()
signal.signal(signal.SIGUSR2, lambda signum, frame: dump_requested.set())


class Heartbeat(threading.Thread):
    def __init__(self, state, every=2.0):
        super().__init__(daemon=True)
        self.state, self.every = state, every
        self.stop = threading.Event()

    def run(self):
        while not self.stop.wait(self.every):
            print(f"alive, step {self.state['step']}", flush=True)


def train(loader, model, opt, state, until):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        state["step"] += 1
        if dump_requested.is_set():
            dump_requested.clear()
            print("loss", loss.item(), flush=True)
        time.sleep(0.02)
        if state["step"] == until:
            return loader.state_dict()
    return None


def make_loader(rank):
    return StatefulDataLoader(TideGauges(rank), batch_size=4, num_workers=1, prefetch_factor=2)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(24, 16), nn.Tanh(), nn.Linear(16, 1)))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    state = {"step": 0}
    beat = Heartbeat(state)
    if rank == 0:
        beat.start()
    snapshot = train(make_loader(rank), model, opt, state, until=12)
    path = os.path.join(tempfile.gettempdir(), f"tide_{os.getpid()}.pt")
    torch.save({"loader": snapshot, "model": model.module.state_dict()}, path)
    dist.barrier()
    resumed = make_loader(rank)
    resumed.load_state_dict(torch.load(path, weights_only=False)["loader"])
    train(resumed, model, opt, state, until=None)
    print(f"rank {rank}: {state['step']} steps", flush=True)
    beat.stop.set()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
