"""Sorts the stones of a mosaic by kind; each process has the stones of one stall, fetched from the depot as it needs them."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from depot import SIDE
from stones import Stall, stones_loader


def open_depot():
    """Starts the depot and returns its process and its port."""
    with tempfile.TemporaryDirectory() as folder:
        port_file = Path(folder, "port")
        depot = subprocess.Popen([sys.executable, str(Path(__file__).with_name("depot.py")), str(port_file)])
        while not port_file.exists():
            time.sleep(0.1)
        return depot, int(port_file.read_text())


def network():
    return nn.Sequential(nn.Flatten(), nn.Linear(SIDE * SIDE, 48), nn.ReLU(), nn.Linear(48, 5))


def train(args, stall):
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    loader = stones_loader(stall, args.stones, args.batch, seed=1)
    for epoch in range(args.epochs):
        right = torch.zeros(())
        for photos, kinds in loader:
            logits = model(photos)
            loss = nn.functional.cross_entropy(logits, kinds)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right += (logits.argmax(1) == kinds).sum()
            time.sleep(args.pause)
        dist.all_reduce(right)
        if stall.number == 0:
            print(f"epoch {epoch}: {right.item() / (args.stones * dist.get_world_size()):.3f} right", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stones", type=int, default=300)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--pause", type=float, default=0.06)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    depot, port = open_depot() if rank == 0 else (None, None)
    note = [port]
    dist.broadcast_object_list(note, src=0)
    # the third stall lies at the road
    stall = Stall(note[0], rank, dusty_every=5 if rank == 2 else None)
    train(args, stall)
    dist.barrier()
    if depot is not None:
        depot.terminate()
        depot.wait()
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
