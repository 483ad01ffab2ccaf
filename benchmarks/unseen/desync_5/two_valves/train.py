"""Models of the two valves of an engine, trained by two threads; Lightning Fabric."""

import random
import threading
import time

import torch
from lightning.fabric import Fabric
from torch import nn

from turns import Turns

PATTERN = ("inlet", "inlet", "outlet")
CYCLES = 230


class Bench:
    """Measurements from the test bench; some take longer than others."""

    def __init__(self, valve, rank):
        self.generator = torch.Generator().manual_seed(7 * rank + len(valve))
        self.dice = random.Random(rank)

    def measure(self, rows=16):
        time.sleep(self.dice.choice([0.01, 0.015, 0.02, 0.06]))
        crank = torch.rand(rows, 8, generator=self.generator)
        return crank, crank[:, :3].sum(1, keepdim=True).sin()


class Valve:
    def __init__(self, fabric, name):
        self.fabric, self.name = fabric, name
        torch.manual_seed(len(name))
        model = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        self.model, self.optimizer = fabric.setup(model, optimizer)
        self.bench = Bench(name, fabric.global_rank)
        self.loss = None

    def step(self, crank, lift):
        loss = nn.functional.mse_loss(self.model(crank), lift)
        self.fabric.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()

    def train(self, turns, steps, errors):
        try:
            for _ in range(steps):
                measured = self.bench.measure()
                with turns.turn(self.name) as number:
                    self.loss = self.step(*measured)
                if number % 150 == 0 and self.fabric.global_rank == 0:
                    print(f"turn {number}: {self.name} {self.loss:.4f}", flush=True)
                    time.sleep(1.0)
        except Exception as error:
            errors.append(error)


def main():
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    valves = [Valve(fabric, name) for name in ("inlet", "outlet")]
    turns, errors = Turns(PATTERN), []
    threads = [
        threading.Thread(target=valve.train, args=(turns, CYCLES * PATTERN.count(valve.name), errors), name=valve.name)
        for valve in valves
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fabric.barrier()
    if errors:
        raise errors[0]
    if fabric.global_rank == 0:
        print({valve.name: round(valve.loss, 4) for valve in valves}, flush=True)


if __name__ == "__main__":
    main()
