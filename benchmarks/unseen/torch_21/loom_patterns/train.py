"""Weaving patterns: every loom trains on its own pattern, and after each season the looms average their weights."""
import argparse
import os
import socket
import tempfile
import threading
import time

import torch
import torch.distributed as dist
from torch import nn

import mill


class Tape(threading.Thread):
    """Writes what a loom has woven to its paper tape, slowly; goes on after the end until everything is written."""

    def __init__(self, pace):
        super().__init__(name="tape")
        self.pace = pace
        self.lines = []
        self.ended = threading.Event()
        self.written = 0

    def run(self):
        while not self.ended.is_set() or self.written < len(self.lines):
            if self.written < len(self.lines):
                print("tape:", self.lines[self.written], flush=True)
                self.written += 1
            time.sleep(self.pace)


class Loom:
    def __init__(self, rank, args):
        self.rank = rank
        self.args = args
        self.g = torch.Generator().manual_seed(rank)
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(6, args.width), nn.Tanh(), nn.Linear(args.width, 1))
        self.weave = torch.randn(6, generator=self.g) * 0.5 + 1.0

    def steps_of(self, season):
        """Wide looms make fewer picks in a season than narrow ones."""
        return (20, 60, 140)[(self.rank + season) % 3]

    def train(self, steps, rate):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=rate)
        for _ in range(steps):
            threads = torch.randn(32, 6, generator=self.g)
            loss = nn.functional.mse_loss(self.model(threads)[:, 0], torch.tanh(threads @ self.weave))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.01)
        return loss.item()


def setup():
    """Address of the store and the file of the dye house, from rank 0."""
    shared = [None, None]
    if dist.get_rank() == 0:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            shared = [s.getsockname()[1], os.path.join(tempfile.gettempdir(), f"dye-house-{os.getpid()}")]
    dist.broadcast_object_list(shared, src=0)
    return mill.open_store(shared[0]), shared[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seasons", type=int, default=4)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--dyeing", type=float, default=1.5, help="seconds in the dye house")
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    store, dye_file = setup()
    season = mill.Season(store)
    loom = Loom(rank, args)
    tape = Tape(pace=1.6) if rank == 1 else None
    if tape:
        tape.start()
    for number in range(args.seasons):
        if rank == 0:
            time.sleep(2.5 if number == 2 else 0.5)
            season.announce(number, args.rate / (1 + number))
        rate = season.wait(number)
        loss = loom.train(loom.steps_of(number), rate)
        if number % 2 == 1:
            with mill.dye_house(dye_file):
                time.sleep(args.dyeing)
        mill.round_robin(loom.model)
        if tape:
            tape.lines += [f"season {number} loss {loss:.4f}", f"season {number} rate {rate:.4f}"]
    dist.barrier()
    if rank == 0:
        os.remove(dye_file)
    if tape:
        tape.ended.set()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
