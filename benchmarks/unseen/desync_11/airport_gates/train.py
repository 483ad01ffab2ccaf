"""Boarding times and delays of departures; one process for each terminal of the airport."""

import argparse
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.nn.functional import huber_loss
from torch.nn.parallel import DistributedDataParallel

from flights import FEATURES, Terminal
from networks import mean_gradient, regressor


@dataclass
class Settings:
    hours: int = 720
    lr: float = 0.01
    late_after: float = 0.05
    report: int = 90


class Averages:
    def __init__(self):
        self.values = {}

    def add(self, name, value):
        self.values[name] = 0.97 * self.values.get(name, value) + 0.03 * value

    def __str__(self):
        return ", ".join(f"{name} {value:.3f}" for name, value in self.values.items())


def train(settings, terminal, averages):
    torch.manual_seed(2)
    boarding_net = DistributedDataParallel(regressor(FEATURES))
    delay_net = regressor(FEATURES)
    boarding_opt = torch.optim.SGD(boarding_net.parameters(), lr=settings.lr)
    delay_opt = torch.optim.SGD(delay_net.parameters(), lr=settings.lr)
    departures = iter(terminal)
    started = time.monotonic()
    hour = 0
    while hour < settings.hours:
        flights, boarding, delay = next(departures)

        loss = huber_loss(boarding_net(flights), boarding)
        boarding_opt.zero_grad()
        loss.backward()
        boarding_opt.step()
        averages.add("boarding", loss.item())

        # How long a delay is can only be learnt from the flights that were late.
        late = delay > settings.late_after
        if late.any():
            error = huber_loss(delay_net(flights[late]), delay[late])
            delay_opt.zero_grad()
            error.backward()
            mean_gradient(delay_net)
            delay_opt.step()
            averages.add("delay", error.item())

        if terminal.number == 0 and hour % settings.report == 0:
            print(f"hour {hour}, {time.monotonic() - started:.0f} s: {averages}", flush=True)
        hour += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=int, default=Settings.hours)
    settings = Settings(hours=parser.parse_args().hours)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    terminal = Terminal(dist.get_rank())
    averages = Averages()
    train(settings, terminal, averages)
    dist.barrier()
    print(f"terminal {terminal.number}: {averages}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
