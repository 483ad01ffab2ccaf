import argparse
import json
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, TensorDataset

from robustness import RobustnessProbe


def patches(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    x = torch.randn(n, 1, 12, 12, generator=g) * 0.5
    for k in range(4):
        x[y == k, :, 3 * k:3 * k + 3, :] += 0.8
    return TensorDataset(x, y)


def build_model(width):
    return nn.Sequential(
        nn.Conv2d(1, width, 3), nn.BatchNorm2d(width), nn.ReLU(),
        nn.Conv2d(width, width, 3, stride=2), nn.BatchNorm2d(width), nn.ReLU(),
        nn.Flatten(), nn.LazyLinear(4),
    )


def main(hp):
    fabric = Fabric(accelerator="cpu", devices=hp.devices, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(14)
    model = build_model(hp.width)
    model(torch.zeros(2, 1, 12, 12))
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9))
    loader = fabric.setup_dataloaders(DataLoader(patches(1536, 0), batch_size=16, shuffle=True))
    probe = RobustnessProbe(DataLoader(patches(96, 1), batch_size=16))

    step, history = 0, []
    for epoch in range(hp.epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            fabric.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            time.sleep(0.02)
            if step % hp.probe_every == 0 and fabric.is_global_zero:
                history.append({"step": step, "loss": loss.item(), **probe.run(model)})
                print(json.dumps(history[-1]), flush=True)
    fabric.barrier()
    fabric.print("steps", step)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--devices", type=int, default=3)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--width", type=int, default=8)
    p.add_argument("--probe_every", type=int, default=22)
    main(p.parse_args())
