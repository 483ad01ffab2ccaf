"""Crumb quality of loaves from cross-section images, with Lightning Fabric."""
import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tasting import Tasting


def loaves(count: int, seed: int):
    g = torch.Generator().manual_seed(seed)
    quality = torch.randint(0, 5, (count,), generator=g)
    image = torch.randn(count, 1, 32, 32, generator=g) * (0.5 + 0.2 * quality[:, None, None, None])
    return TensorDataset(image, quality)


def conv(inside: int, outside: int):
    return nn.Sequential(nn.Conv2d(inside, outside, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(outside), nn.ReLU())


class CrumbNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(conv(1, 24), conv(24, 48), conv(48, 64))
        self.grade = nn.Linear(64, 5)

    def forward(self, image):
        return self.grade(self.features(image).mean(dim=(2, 3)))


def main():
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(14)
    model = CrumbNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    model, optimizer = fabric.setup(model, optimizer)
    loader = fabric.setup_dataloaders(DataLoader(loaves(4000, 1), batch_size=16, shuffle=True, drop_last=True))
    tasting = Tasting(fabric, DataLoader(loaves(320, 2), batch_size=64), patience=3)

    for epoch in range(10):
        model.train()
        for image, quality in loader:
            loss = nn.functional.cross_entropy(model(image), quality)
            fabric.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if tasting.after_epoch(epoch, model):
            break
    fabric.print("best accuracy", tasting.best)


if __name__ == "__main__":
    main()
