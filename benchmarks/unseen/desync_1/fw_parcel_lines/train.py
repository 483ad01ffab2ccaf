"""Sorts address lines into delivery regions (Lightning Fabric)."""

import os
import time

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader

from packing import ALPHABET, REGIONS, Lines, pack, stack

BATCH, STEPS, BUDGET = 8, 420, 100


class RegionNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.letters = nn.Embedding(ALPHABET, dim, padding_idx=0)
        self.conv = nn.Conv1d(dim, dim, kernel_size=3, padding=1)
        self.hidden = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, REGIONS)

    def forward(self, text):
        h = torch.relu(self.conv(self.letters(text).transpose(1, 2)))
        mask = (text > 0).unsqueeze(1)
        h = (h * mask).sum(dim=2) / mask.sum(dim=2)
        return self.out(torch.relu(self.hidden(h)))


def learn(fabric, model, optimizer, lines):
    """One optimizer step over a batch; returns its mean loss."""
    total = 0.0
    for part in pack(lines, BUDGET):
        text, region = stack(part)
        time.sleep(0.024)
        loss = nn.functional.cross_entropy(model(text), region, reduction="sum") / len(lines)
        fabric.backward(loss)
        total += loss.item()
    optimizer.step()
    optimizer.zero_grad()
    return total


def main():
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=int(os.environ["WORLD_SIZE"]), strategy="ddp")
    fabric.launch()
    fabric.seed_everything(64, verbose=False)

    net = RegionNet()
    model, optimizer = fabric.setup(net, torch.optim.Adam(net.parameters(), lr=2e-3))
    loader = DataLoader(Lines(BATCH * STEPS * fabric.world_size), batch_size=BATCH, collate_fn=list)
    loader = fabric.setup_dataloaders(loader)

    for epoch in range(2):
        smooth, steps = None, 0
        for lines in loader:
            loss = learn(fabric, model, optimizer, lines)
            smooth = loss if smooth is None else 0.97 * smooth + 0.03 * loss
            steps += 1
            if steps % 40 == 0:
                fabric.print(f"epoch {epoch}, step {steps}: {smooth:.4f}", flush=True)
        everywhere = fabric.all_gather(torch.tensor(smooth))
        fabric.print(f"epoch {epoch}: {everywhere.mean().item():.4f} over {everywhere.numel()} depots", flush=True)


if __name__ == "__main__":
    main()
