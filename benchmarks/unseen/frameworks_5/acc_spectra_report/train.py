"""Classifies infrared spectra; the main process writes a report when training is over."""
import os
import tempfile
import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

from report import render


@dataclass
class Config:
    bands: int = 48
    classes: int = 5
    samples: int = 960
    batch: int = 8
    epochs: int = 1
    lr: float = 0.01


def spectra(cfg):
    g = torch.Generator().manual_seed(3)
    x = torch.randn(cfg.samples, 1, cfg.bands, generator=g)
    y = torch.randint(0, cfg.classes, (cfg.samples,), generator=g)
    return TensorDataset(x, y)


def network(cfg):
    return torch.nn.Sequential(
        torch.nn.Conv1d(1, 8, 5, padding=2),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool1d(8),
        torch.nn.Flatten(),
        torch.nn.Linear(64, cfg.classes),
    )


def main(cfg=Config()):
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    model = network(cfg)
    model, optimizer, loader = accelerator.prepare(
        model,
        torch.optim.SGD(model.parameters(), lr=cfg.lr),
        DataLoader(spectra(cfg), batch_size=cfg.batch, shuffle=True),
    )
    history = []
    for epoch in range(cfg.epochs):
        for step, (x, y) in enumerate(loader):
            loss = F.cross_entropy(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            time.sleep(0.02)
            if step % 8 == 0:
                history.append((epoch, step, round(accelerator.gather(loss.detach()).mean().item(), 4)))

    is_main = accelerator.is_main_process
    accelerator.wait_for_everyone()
    accelerator.end_training()  # takes the process group down

    if is_main:
        path = os.path.join(tempfile.mkdtemp(prefix="spectra_"), "report.html")
        size = render(history, path)
        print(f"report: {path} ({size} bytes)", flush=True)


if __name__ == "__main__":
    main()
