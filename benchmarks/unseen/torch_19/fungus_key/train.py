"""A key to the fungi in two stages: the encoder learns to restore measurements, then names are learned."""
import argparse
import time
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from excursions import walk
from key import Classifier, Encoder, Names


class Stage(NamedTuple):
    name: str
    epochs: int
    lr: float


def measures_of(finds):
    return torch.stack([find.measures for find in finds])


class KeyMaker:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        self.finds = walk(self.rank, args.finds)
        self.inputs = measures_of(self.finds)
        self.random = torch.Generator().manual_seed(self.rank)
        torch.manual_seed(1)
        self.encoder = Encoder(args.width)

    def batches(self):
        for pick in torch.randperm(len(self.inputs), generator=self.random).split(self.args.batch):
            yield pick

    def stage(self, stage, model, loss_of):
        optimizer = torch.optim.AdamW(model.parameters(), lr=stage.lr)
        for epoch in range(stage.epochs):
            total = torch.zeros(1)
            for pick in self.batches():
                optimizer.zero_grad()
                loss = loss_of(model, pick)
                loss.backward()
                optimizer.step()
                total += loss.detach()
                time.sleep(0.02)
            dist.all_reduce(total)
            if self.rank == 0:
                print(f"{stage.name} {epoch}: {total.item():.3f}", flush=True)

    def restore(self, stage):
        def loss_of(model, pick):
            clean = self.inputs[pick]
            noisy = clean * (torch.rand(clean.shape, generator=self.random) > 0.2)
            return nn.functional.mse_loss(model(noisy), clean)

        self.stage(stage, DDP(self.encoder), loss_of)

    def name(self, stage):
        names = Names(self.finds)
        labels = names.encode(self.finds)
        classifier = Classifier(self.encoder, self.args.width, len(names), self.args.dropout)

        def loss_of(model, pick):
            return nn.functional.cross_entropy(model(self.inputs[pick]), labels[pick])

        self.stage(stage, DDP(classifier), loss_of)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--finds", type=int, default=768)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--dropout", type=float, default=0.1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    maker = KeyMaker(args)
    maker.restore(Stage("restore", epochs=6, lr=2e-3))
    maker.name(Stage("name", epochs=6, lr=1e-3))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
