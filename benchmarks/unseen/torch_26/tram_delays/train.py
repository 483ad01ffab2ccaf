"""Delays of trams: each process averages its weights with the others once an hour (local SGD).

The states before long delays are kept for the dispatchers.
"""
import argparse
import os
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn

from recorder import Recorder

LINES = ("8", "14", "91")
JAMS = (0.22, 0.03, 0.05)  # how often the line is jammed


class Line:
    def __init__(self, number, stops):
        self.g = torch.Generator().manual_seed(80 + number)
        self.jams = JAMS[number % len(JAMS)]
        self.stops = stops

    def minute(self, trams=8):
        state = torch.randn(trams, self.stops, generator=self.g)
        jammed = torch.rand(trams, generator=self.g) < self.jams
        state[:, 0] += 3.0 * jammed
        delay = state[:, :4].abs().mean(1) + 6.0 * jammed
        return state, delay


class Dispatcher:
    def __init__(self, args, recorder):
        self.args = args
        self.recorder = recorder
        self.rank = dist.get_rank()
        self.line = Line(self.rank, args.stops)
        torch.manual_seed(6)
        self.model = nn.Sequential(nn.Linear(args.stops, 32), nn.ReLU(), nn.Linear(32, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.8)

    def average(self):
        with torch.no_grad():
            for parameter in self.model.parameters():
                dist.all_reduce(parameter)
                parameter /= dist.get_world_size()

    def minute(self, step):
        state, delay = self.line.minute()
        loss = nn.functional.smooth_l1_loss(self.model(state)[:, 0], delay)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        for before, late in zip(state.tolist(), delay.tolist()):
            if late > self.args.long_delay:
                self.recorder.keep(step, LINES[self.rank % len(LINES)], late, before)
        time.sleep(0.02)

    def run(self):
        for step in range(1, self.args.minutes + 1):
            self.minute(step)
            if step % 20 == 0:
                self.average()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=int, default=240)
    parser.add_argument("--stops", type=int, default=60)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--long-delay", type=float, default=5.0)
    parser.add_argument("--rows", type=int, default=150)
    args = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="trams-") as directory:
        recorder = Recorder(directory, f"line-{os.environ['RANK']}", args.rows)
        dist.init_process_group("gloo")
        Dispatcher(args, recorder).run()
        size = recorder.close()
        dist.barrier()
        print(f"[{dist.get_rank()}] {size} bytes of long delays", flush=True)
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
