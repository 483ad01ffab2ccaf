"""Classifier of reef crops. Ranks have different numbers of usable crops, so their steps have different portions."""

import random
import time
from contextlib import nullcontext

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed
from torch import nn
from torch.utils.data import DataLoader

from crops import KINDS, Crops, portions

BATCH = 8
LIMIT = 3


class ReefNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 12, 3, padding=1)
        self.deep = nn.Conv2d(12, 20, 3, stride=2, padding=1)
        self.head = nn.Linear(20, KINDS)

    def forward(self, x):
        h = F.gelu(self.deep(F.gelu(self.conv(x))))
        return self.head(h.mean(dim=(2, 3)))


def read_portion(crops):
    if random.random() < 0.05:
        raise TimeoutError("share is busy")
    time.sleep(0.008 + 0.003 * len(crops))
    return crops.clamp(-3, 3)


def fetch(crops, attempts=20):
    for _ in range(attempts):
        try:
            return read_portion(crops)
        except TimeoutError:
            time.sleep(0.004)
    return crops


def step(accelerator, model, optimizer, batch):
    usable = int(batch["use"].sum())
    value = 0.0
    for crops, kinds, last in portions(batch, LIMIT):
        with nullcontext() if last else accelerator.no_sync(model):
            if len(crops) == 0:
                accelerator.backward(model(batch["crop"]).sum() * 0.0)
                continue
            loss = F.cross_entropy(model(fetch(crops)), kinds, reduction="sum") / usable
            accelerator.backward(loss)
            value += loss.item()
    optimizer.step()
    optimizer.zero_grad()
    return value, usable


def main():
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(dispatch_batches=False))
    set_seed(3, device_specific=True)
    rank = accelerator.process_index
    model = ReefNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    loader = DataLoader(Crops(11520, seed=52_000), batch_size=BATCH)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    totals = torch.zeros(2)
    idle = 0
    for n, batch in enumerate(loader):
        value, usable = step(accelerator, model, optimizer, batch)
        if usable == 0:
            idle += 1
            print(f"[{rank}] batch {n} has no usable crop", flush=True)
        totals += torch.tensor([value * usable, usable])
        if rank == 3 and n % 90 == 40:
            probe = accelerator.unwrap_model(model)
            with torch.no_grad():
                spread = probe(batch["crop"]).std().item()
            time.sleep(0.8)
            print(f"[{rank}] spread of the scores {spread:.3f}", flush=True)
        if (n + 1) % 60 == 0:
            loss, count = accelerator.reduce(totals, reduction="sum").tolist()
            accelerator.print(f"step {n + 1}: {loss / count:.4f} over {int(count)} crops", flush=True)
            totals.zero_()

    empty = accelerator.gather(torch.tensor([idle])).tolist()
    accelerator.print(f"batches without usable crops: {empty}", flush=True)
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
