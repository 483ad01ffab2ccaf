# Leaf disease classifier on 3 processes. Trains with Accelerate, scores a holdout set every now and then.
import tempfile
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, Dataset

from holdout import HoldoutJudge

CLASSES = 4
SCORE_EVERY = 150


class Scans(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, CLASSES, (n,), generator=g)
        self.images = 0.6 * torch.randn(n, 3, 14, 14, generator=g)
        for c in range(CLASSES):
            self.images[self.labels == c, c % 3, 3 * c : 3 * c + 4, 4:10] += 1.2

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(block(3, 12), nn.MaxPool2d(2), block(12, 24), nn.AdaptiveAvgPool2d(2))
        self.classify = nn.Linear(24 * 4, CLASSES)

    def forward(self, x):
        return self.classify(self.features(x).flatten(1))


def endless(loader):
    while True:
        yield from loader


def save(accelerator, model, folder, step):
    target = folder / f"leafnet-{step:05d}.pt"
    accelerator.save(accelerator.unwrap_model(model).state_dict(), target)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(5)
    accelerator = Accelerator(cpu=True)
    folder = Path(tempfile.mkdtemp(prefix="leafnet-"))

    model = LeafNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    train_loader = DataLoader(Scans(4800, seed=1), batch_size=8, shuffle=True, drop_last=True)
    model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)

    judge = HoldoutJudge(accelerator, DataLoader(Scans(320, seed=2), batch_size=32), every=SCORE_EVERY)

    batches = endless(train_loader)
    for step in range(1, 601):
        images, labels = next(batches)
        time.sleep(0.03)  # colour jitter and crops
        loss = F.cross_entropy(model(images), labels)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()

        judge.visit(step, model)
        if step % SCORE_EVERY == 0:
            accelerator.wait_for_everyone()
            save(accelerator, model, folder, step)
        if step % 50 == 0:
            accelerator.print(f"step {step} loss {loss.item():.3f}")

    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
