"""Clicks on advertisements: a logistic regression that follows the stream, and a watch on the drift of its features."""

import time
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, Dataset

from drift import DriftMonitor


@dataclass
class Config:
    features: int = 40
    impressions: int = 1200 * 48
    batch: int = 16
    warmup: int = 60
    lr: float = 0.05


class Impressions(Dataset):
    def __init__(self, config):
        self.config = config
        self.taste = torch.randn(config.features, generator=torch.Generator().manual_seed(3))

    def __len__(self):
        return self.config.impressions

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        features = torch.randn(self.config.features, generator=generator)
        time.sleep(0.0012)
        return features, (features @ self.taste > 0).float()


def main():
    torch.set_num_threads(1)
    config = Config()
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(8)
    model = nn.Linear(config.features, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=config.lr)
    loader = DataLoader(Impressions(config), batch_size=config.batch)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    monitor = DriftMonitor(accelerator, config.features)

    average = 0.7
    for step, (features, clicked) in enumerate(loader):
        if step == config.warmup:
            monitor.start()
        monitor.observe(features)
        loss = nn.functional.binary_cross_entropy_with_logits(model(features).squeeze(1), clicked)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        average = 0.98 * average + 0.02 * loss.item()
        if step % 200 == 0:
            accelerator.print(f"step {step}: {average:.3f}", flush=True)
    monitor.stop()
    accelerator.wait_for_everyone()
    accelerator.print(f"loss {average:.3f}, drift {monitor.dashboard.points[-1]:.3f}", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
