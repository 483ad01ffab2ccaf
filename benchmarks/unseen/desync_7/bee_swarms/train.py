"""Will a colony swarm? From the sound of the hive; Fabric."""

import random
import time

import torch
from lightning.fabric import Fabric, seed_everything
from torch import nn

from importance import Aside, Importance

BANDS, KINDS = 20, 3


class Hive:
    """The recordings of one hive. Seconds that are put aside: {hive: [length of each recording]}."""

    aside_seconds = {0: [0.2], 1: [0.2], 2: [3.5] * 10}

    def __init__(self, number, size):
        self.number, self.size = number, size
        self.generator = torch.Generator().manual_seed(60 + number)
        self.pace = random.Random(number)

    def recording(self, size):
        kind = torch.randint(0, KINDS, (size,), generator=self.generator)
        sound = torch.randn(size, BANDS, generator=self.generator)
        sound[torch.arange(size), 4 * kind] += 1.5
        return sound, kind

    def aside(self):
        return Aside([(*self.recording(4), seconds) for seconds in self.aside_seconds[self.number]])

    def day(self):
        time.sleep(self.pace.uniform(0.05, 0.07))
        return self.recording(self.size)


class SwarmTrainer:
    warm, every = 130, 40

    def __init__(self, fabric, hive):
        self.fabric, self.hive = fabric, hive
        self.network = nn.Sequential(nn.Linear(BANDS, 24), nn.ReLU(), nn.Linear(24, KINDS))
        optimizer = torch.optim.SGD(self.network.parameters(), lr=0.02)
        self.model, self.optimizer = fabric.setup(self.network, optimizer)
        self.importance = Importance(hive.aside())

    def step(self):
        sound, kind = self.hive.day()
        loss = nn.functional.cross_entropy(self.model(sound), kind)
        self.optimizer.zero_grad()
        self.fabric.backward(loss)
        self.optimizer.step()
        return loss.item()

    def fit(self, steps):
        mean = 1.0
        for step in range(1, steps + 1):
            mean += 0.03 * (self.step() - mean)
            if step >= self.warm and (step - self.warm) % self.every == 0:
                self.importance.request(self.network)
            if step % 100 == 0:
                self.fabric.print(f"step {step}: {mean:.3f}", flush=True)
        self.importance.close()
        self.fabric.barrier()


def main():
    torch.set_num_threads(1)
    seed_everything(12, verbose=False)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    trainer = SwarmTrainer(fabric, Hive(fabric.global_rank, size=8))
    trainer.fit(640)
    fabric.print("done", flush=True)


if __name__ == "__main__":
    main()
