"""Weaving faults in swatches of cloth, with Accelerate.

The looms are stopped once a shift; training pauses then and is taken up where it was.
"""

import argparse
import time

import torch
from accelerate import Accelerator, skip_first_batches
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from progress import Progress

THREADS = 32


def weave(count, batch, torn, seed):
    """Swatches in the order of weaving; in the batches named in `torn` all of them are faulty."""
    g = torch.Generator().manual_seed(seed)
    labels = (torch.rand(count, generator=g) < 0.2).float()
    for i in range(0, count, batch):
        labels[i] = 0.0
    for i in torn:
        labels[i * batch : (i + 1) * batch] = 1.0
    swatches = torch.randn(count, THREADS, generator=g)
    swatches[:, :4] += 1.5 * labels[:, None]
    return TensorDataset(swatches, labels)


class Run:
    def __init__(self, args):
        self.args = args
        self.accelerator = Accelerator(cpu=True)
        data = weave(args.swatches, args.batch, args.torn, seed=5)
        loader = DataLoader(data, args.batch)
        model = nn.Sequential(nn.Linear(THREADS, 48), nn.ReLU(), nn.Linear(48, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)
        self.progress = Progress()

    def step(self, swatches, labels):
        loss = nn.functional.binary_cross_entropy_with_logits(self.model(swatches).squeeze(-1), labels)
        self.accelerator.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.progress.add(labels)
        time.sleep(0.02)
        return loss.detach()

    def shift(self, loader, limit=None):
        losses = []
        for i, (swatches, labels) in enumerate(loader):
            if i == limit:
                break
            losses.append(self.step(swatches, labels))
        mean = self.accelerator.gather(torch.stack(losses).mean().reshape(1)).mean()
        self.accelerator.print(f"epoch {self.progress.position.epoch}: {mean:.4f}", flush=True)

    def fit(self):
        for epoch in range(self.args.epochs):
            self.progress.begin(epoch)
            self.shift(self.loader, limit=self.args.pause)
            saved = self.progress.dump()
            time.sleep(0.5)  # the looms are oiled
            self.progress = Progress.load(saved)
            rest = skip_first_batches(self.loader, self.progress.position.batches)
            self.shift(rest)
        self.accelerator.wait_for_everyone()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--swatches", type=int, default=2160)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--pause", type=int, default=30, help="batches of a process before the pause")
    parser.add_argument("--torn", type=int, nargs="*", default=[26])
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(4)
    run = Run(args)
    run.fit()
    run.accelerator.end_training()


if __name__ == "__main__":
    main()
