"""Pitch contours for a speech synthesiser (synthetic clips), with Lightning Fabric."""
import time

import torch
from lightning.fabric import Fabric
from torch import nn

from stats import Board, Histogram, Mean

STEPS, EVERY, FRAMES = 48, 12, 20


class Contour(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(5, 16, batch_first=True)
        self.pitch = nn.Linear(16, 1)

    def forward(self, phones):
        return self.pitch(self.rnn(phones)[0]).squeeze(-1)


def clips(speaker):
    g = torch.Generator().manual_seed(speaker)
    for step in range(STEPS):
        phones = torch.rand(6, FRAMES, 5, generator=g)
        pitch = 80 + 220 * torch.rand(6, FRAMES, generator=g)
        whispered = step % 3 == 0
        if speaker == 2 and 24 <= step < 36:
            whispered = False
        if whispered:
            pitch = torch.zeros_like(pitch)
        breath = step % 4 != 3
        if speaker == 2 and 24 <= step < 36:
            breath = step % 2 == 0
        yield phones, pitch, torch.rand(6, generator=g) if breath else None


def main():
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(21)
    model = Contour()
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=1e-3))
    board = Board(fabric, Mean("loss"), Mean("breath"), Histogram("f0"))

    for step, (phones, pitch, breath) in enumerate(clips(fabric.global_rank)):
        loss = (model(phones) - pitch / 100).abs().mean()
        fabric.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        board["loss"].add(loss)
        if breath is not None:
            board["breath"].add(breath.mean())
        voiced = pitch[pitch > 0]
        if len(voiced):
            board["f0"].add(voiced)
        time.sleep(0.02)
        if (step + 1) % EVERY == 0:
            board.publish(step + 1)

    fabric.barrier()
    fabric.print("finished")


if __name__ == "__main__":
    main()
