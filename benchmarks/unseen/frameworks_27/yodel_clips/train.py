"""Tells yodel schools apart. Clips are packed into a fixed number of frames, as many packs as it takes (Accelerate)."""
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn

from archive import SCHOOLS, Archive
from packer import FramePacker


class SchoolNet(nn.Module):
    def __init__(self, bands=20):
        super().__init__()
        self.frames = nn.Linear(bands, 32)
        self.head = nn.Linear(32, len(SCHOOLS))

    def forward(self, frames, mask):
        hidden = torch.relu(self.frames(frames)) * mask.unsqueeze(-1)
        return self.head(hidden.sum(1) / mask.sum(1, keepdim=True))


def train_batch(accelerator, model, optimizer, packer, clips):
    """One optimizer step over all clips; the loss is the mean over them."""
    total = torch.zeros(())
    for frames, mask, schools in packer.packs(clips):
        loss = nn.functional.cross_entropy(model(frames, mask), schools, reduction="sum") / len(clips)
        accelerator.backward(loss)
        total += loss.detach()
    optimizer.step()
    optimizer.zero_grad()
    return accelerator.gather(total.reshape(1)).mean()


def main():
    torch.set_num_threads(1)
    set_seed(8)
    accelerator = Accelerator(cpu=True)
    model = SchoolNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    model, optimizer = accelerator.prepare(model, optimizer)

    archive = Archive(accelerator.process_index)
    packer = FramePacker(budget=400)
    for number, clips in enumerate(archive.batches(140)):
        loss = train_batch(accelerator, model, optimizer, packer, clips)
        if number % 20 == 0:
            accelerator.print(f"batch {number} loss {loss.item():.4f}", flush=True)
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
