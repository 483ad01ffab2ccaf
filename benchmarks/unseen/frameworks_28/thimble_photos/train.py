"""Silver, brass or porcelain? A collector's thimbles; Accelerate on four CPU processes.

    torchrun --nproc-per-node 4 train.py
"""
from datetime import timedelta

import torch
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import gather_object, set_seed
from torch import nn
from torch.utils.data import DataLoader

from cabinet import MATERIALS, Thimbles, disputed
from review import second_look

EPOCHS = 2


def build():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, len(MATERIALS)))


def train(accelerator, model, optimizer, loader):
    for epoch in range(EPOCHS):
        model.train()
        for photo, material in loader:
            loss = nn.functional.cross_entropy(model(photo), material)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        mean = accelerator.reduce(loss.detach(), reduction="mean")
        accelerator.print(f"epoch {epoch}: last loss {mean.item():.3f}")


def main():
    set_seed(17)
    accelerator = Accelerator(cpu=True)
    model = build()
    model, optimizer, loader = accelerator.prepare(
        model, torch.optim.AdamW(model.parameters(), lr=2e-3), DataLoader(Thimbles(640), batch_size=4, shuffle=True))
    train(accelerator, model, optimizer, loader)

    # the pieces that two experts disagreed about, with many crops each
    with accelerator.split_between_processes(disputed()) as cases:
        opinions = second_look(accelerator.unwrap_model(model), cases)
    if opinions is None:
        return

    # the experts' answers can take longer than the default timeout, so they have a group of their own
    experts = dist.new_group(timeout=timedelta(hours=3))
    everything = gather_object(opinions)
    dist.barrier(group=experts)
    accelerator.print(f"{len(everything)} opinions")
    accelerator.end_training()


if __name__ == "__main__":
    main()
