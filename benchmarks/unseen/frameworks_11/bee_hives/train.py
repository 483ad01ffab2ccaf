"""Sounds of bee hives with Lightning Fabric; the recordings are decoded by workers that start anew in every epoch."""
import time

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Recordings(Dataset):
    def __init__(self, count: int):
        self.count = count
        self.filters = None

    def open_decoder(self):
        time.sleep(3.0)  # the codec reads its tables from the disk
        self.filters = torch.randn(32, 256, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if self.filters is None:
            self.open_decoder()
        g = torch.Generator().manual_seed(i)
        swarming = i % 2
        sound = torch.randn(256, generator=g) * (1.0 + 0.3 * swarming)
        return (self.filters @ sound) / 16, torch.tensor(float(swarming))


class HiveNet(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(32, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, spectrum):
        return self.net(spectrum.square()).squeeze(-1)


def main():
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(2)
    model = HiveNet()
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=1e-3))
    loader = fabric.setup_dataloaders(
        DataLoader(Recordings(640), batch_size=8, shuffle=True, num_workers=1 + fabric.global_rank)
    )
    for epoch in range(4):
        loader.sampler.set_epoch(epoch)
        total = torch.zeros(1)
        for spectrum, swarming in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(spectrum), swarming)
            fabric.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            total += loss.detach()
        mean = fabric.all_reduce(total / len(loader), reduce_op="mean")
        fabric.print(f"epoch {epoch}: {mean.item():.3f}")


if __name__ == "__main__":
    main()
