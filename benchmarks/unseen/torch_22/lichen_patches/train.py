"""Kinds of lichens from patches of photographs (DDP, with callbacks)."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from callbacks import Gallery, Progress, Validation
from patches import KINDS, Patches


class Trainer:
    def __init__(self, args, callbacks):
        self.args = args
        self.callbacks = callbacks
        self.patches = Patches(dist.get_rank())
        torch.manual_seed(2)
        self.model = DDP(nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, len(KINDS))))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9)
        self.loss = float("nan")

    def step(self, pixels, kind):
        loss = nn.functional.cross_entropy(self.model(pixels), kind)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.loss = loss.item()

    def fit(self):
        step = 0
        for epoch in range(self.args.epochs):
            for pixels, kind in self.patches.batches(self.args.batch):
                self.step(pixels, kind)
                step += 1
                for callback in self.callbacks:
                    callback.on_step(self, step)
                time.sleep(0.02)
            for callback in self.callbacks:
                callback.on_epoch(self, epoch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--gallery-every", type=int, default=160)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    callbacks = [Validation()]
    if dist.get_rank() == 0:
        callbacks += [Progress(), Gallery(args.gallery_every)]
    Trainer(args, callbacks).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
