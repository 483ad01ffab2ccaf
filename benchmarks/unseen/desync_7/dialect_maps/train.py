"""Two networks on the same recordings: one for the region and one for the age of a speaker."""

import torch
from accelerate import Accelerator
from torch import nn

from speech import MFCC, REGIONS, Archive


def network():
    return nn.Sequential(nn.Linear(MFCC, 32), nn.ReLU(), nn.Linear(32, REGIONS))


class Pair:
    """Trains both. Recordings without a date have no weight in the second network's loss."""

    def __init__(self, accelerator, lr=2e-3):
        self.accelerator = accelerator
        region, age = network(), network()
        self.region, self.age = accelerator.prepare(region, age)
        self.region_optimizer = accelerator.prepare(torch.optim.Adam(region.parameters(), lr=lr))
        self.age_optimizer = accelerator.prepare(torch.optim.Adam(age.parameters(), lr=lr))

    def update(self, model, optimizer, loss):
        optimizer.zero_grad()
        self.accelerator.backward(loss)
        optimizer.step()
        return loss.item()

    def step(self, sound, region, age, dated):
        loss = nn.functional.cross_entropy(self.region(sound), region)
        first = self.update(self.region, self.region_optimizer, loss)
        each = nn.functional.cross_entropy(self.age(sound), age, reduction="none")
        loss = (each * dated).sum() / dated.sum().clamp(min=1)
        second = self.update(self.age, self.age_optimizer, loss)
        return first, second


def main():
    torch.set_num_threads(1)
    torch.manual_seed(14)
    accelerator = Accelerator(cpu=True)
    archive = Archive(accelerator.process_index, batch=12)
    pair = Pair(accelerator)
    for number, recording in enumerate(archive.recordings(520)):
        first, second = pair.step(*recording)
        if number % 100 == 0:
            accelerator.print(f"{number}: region {first:.3f}, age {second:.3f}", flush=True)
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
