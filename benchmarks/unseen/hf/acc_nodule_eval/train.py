"""Nodule detection on synthetic CT patches with Accelerate.

The validation set is small, so it is evaluated on the main process.
"""
import math
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset


class CTPatches(Dataset):
    """16 x 16 patches; a bright disc in the middle marks a nodule."""

    def __init__(self, count, seed):
        gen = torch.Generator().manual_seed(seed)
        axis = torch.arange(16) - 7.5
        disc = ((axis[:, None] ** 2 + axis[None] ** 2) < 12).float()
        self.labels = torch.randint(0, 2, (count,), generator=gen)
        noise = 0.6 * torch.randn(count, 16, 16, generator=gen)
        self.patches = (noise + self.labels[:, None, None] * disc).unsqueeze(1)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.patches[i], self.labels[i]


def block(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2)
    )


def build():
    return nn.Sequential(block(1, 8), block(8, 16), nn.Flatten(), nn.Linear(16 * 16, 2))


def sensitivity(found, labels):
    positive = labels == 1
    return (found[positive] == 1).float().mean().item()


def main():
    set_seed(11)
    accelerator = Accelerator(cpu=True)
    train_set, val_set = CTPatches(1440, seed=0), CTPatches(96, seed=1)
    train_loader = DataLoader(train_set, batch_size=8, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=16)

    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    total = math.ceil(len(train_loader) / accelerator.num_processes)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, total)
    model, optimizer, train_loader, scheduler = accelerator.prepare(model, optimizer, train_loader, scheduler)

    best = 0.0
    for step, (patches, labels) in enumerate(train_loader, start=1):
        loss = nn.functional.cross_entropy(model(patches), labels)
        accelerator.backward(loss)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        time.sleep(0.03)

        if step % 20 == 0 and accelerator.is_main_process:
            model.eval()
            found, truth = [], []
            with torch.no_grad():
                for scans, nodules in val_loader:
                    found.append(model(scans).argmax(-1))
                    truth.append(nodules)
            model.train()
            best = max(best, sensitivity(torch.cat(found), torch.cat(truth)))
            print(f"step {step} loss {loss.item():.3f} best sensitivity {best:.3f}", flush=True)

    accelerator.wait_for_everyone()
    accelerator.print("best sensitivity", best)
    accelerator.end_training()


if __name__ == "__main__":
    main()
