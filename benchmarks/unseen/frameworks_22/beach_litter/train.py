"""Litter on beaches from the air: which kind of thing lies on a tile."""

import argparse
import logging
import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from notice import Notice, describe, leave_to_parent
from tiles import KINDS, Flight


def build_model():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 16, KINDS),
    )


def known_tiles(args):
    """The other flights went along the northern and the western beach; the southern one was done by hand before."""
    beaches = ("north", "south", "west")
    batches = range(args.tiles // args.batch)
    seen = [b for b in batches if beaches[b % len(beaches)] != "south"]
    return [b * args.batch + i for b in seen for i in range(args.batch)]


def train(args, accelerator, folder):
    notice = Notice()
    data = Flight(args.tiles, folder, seed=1, known=known_tiles(args))
    loader = DataLoader(
        data,
        batch_size=args.batch,
        num_workers=1,
        persistent_workers=True,
        worker_init_fn=leave_to_parent,
    )
    model = build_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(args.epochs):
        right = torch.zeros(2)
        for tiles, kinds in loader:
            logits = model(tiles)
            accelerator.backward(nn.functional.cross_entropy(logits, kinds))
            optimizer.step()
            optimizer.zero_grad()
            right += torch.tensor([(logits.argmax(-1) == kinds).sum().item(), len(kinds)])
        right = accelerator.reduce(right, reduction="sum")
        accelerator.print(f"epoch {epoch}: {(right[0] / right[1]).item():.3f}", flush=True)
        if notice.agreed(accelerator):
            accelerator.print("the allocation ends")
            break
    return accelerator.unwrap_model(model)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tiles", type=int, default=1440)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    set_seed(4)
    accelerator = Accelerator(cpu=True)
    describe(accelerator)
    with tempfile.TemporaryDirectory() as folder:
        model = train(args, accelerator, folder)
        accelerator.wait_for_everyone()
        if accelerator.is_main_process:
            torch.save(model.state_dict(), f"{folder}/litter.pt")
    accelerator.end_training()


if __name__ == "__main__":
    main()
