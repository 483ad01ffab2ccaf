"""Interval logging: loss, throughput and a min/max table of the timers."""
import time
from collections import defaultdict

import torch.distributed as dist


def is_last_rank():
    return dist.get_rank() == dist.get_world_size() - 1


def print_rank_last(message):
    if is_last_rank():
        print(message, flush=True)


class Timers:
    def __init__(self):
        self._elapsed = defaultdict(float)
        self._count = defaultdict(int)

    def add(self, name, seconds):
        self._elapsed[name] += seconds
        self._count[name] += 1

    def averages(self):
        return {k: self._elapsed[k] / max(self._count[k], 1) for k in self._elapsed}

    def minmax_table(self):
        """Smallest and largest average per timer over the job, in ms."""
        everyone = [None] * dist.get_world_size()
        dist.all_gather_object(everyone, self.averages())
        lines = []
        for name in sorted(everyone[0]):
            values = [1e3 * e[name] for e in everyone]
            lines.append(f"    {name:<12s} ({min(values):.2f}, {max(values):.2f})")
        return "\n".join(lines)


class TrainingLog:
    def __init__(self, args):
        self.args = args
        self.timers = Timers()
        self._loss = 0.0
        self._since = time.perf_counter()

    def update(self, iteration, loss):
        self._loss += loss.item()
        if iteration % self.args.log_interval:
            return
        tokens = self.args.log_interval * self.args.micro_batch_size * self.args.seq_length
        rate = tokens / (time.perf_counter() - self._since)
        lines = [f"iter {iteration:6d} | lm loss {self._loss / self.args.log_interval:.4f} | tok/s {rate:.0f}"]
        if iteration % self.args.timing_interval == 0:
            if is_last_rank():
                lines.append(self.timers.minmax_table())
        print_rank_last("\n".join(lines))
        self._loss = 0.0
        self._since = time.perf_counter()
