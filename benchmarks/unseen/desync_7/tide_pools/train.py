"""Which species lives in a tide pool."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from pools import PIXELS, SPECIES, PoolPhotos
from resumable import Resumable


class SpeciesNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.features = nn.Linear(PIXELS, width)
        self.species = nn.Linear(width, SPECIES)

    def forward(self, photo):
        return self.species(self.features(photo).relu())


def train(model, optimizer, batches):
    counted, right = 0, 0
    for number, (photo, species) in enumerate(batches, start=1):
        scores = model(photo)
        loss = nn.functional.cross_entropy(scores, species)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        counted += len(species)
        right += (scores.argmax(1) == species).sum().item()
        if number % 100 == 0:
            logging.info("batch %d: loss %.3f, %.1f %% right", number, loss.item(), 100 * right / counted)
    dist.barrier()
    return right / counted


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--photos", type=int, default=4800)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--snapshot-every", type=int, default=20)
    parser.add_argument("--width", type=int, default=32)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(19)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING)
    model = DistributedDataParallel(SpeciesNet(args.width))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    batches = Resumable(PoolPhotos(rank, args.photos), args.batch_size, args.snapshot_every)
    train(model, optimizer, batches)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
