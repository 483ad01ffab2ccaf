"""Species of butterflies: each process trains on its own tray; the catalogue is read anew after every epoch."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from specimens import PIXELS, SPECIES, held_out, loader, open_tray

log = logging.getLogger("butterflies")


def network(width):
    return nn.Sequential(nn.Linear(PIXELS, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, SPECIES))


def train_epoch(model, optimizer, batches):
    model.train()
    total = 0.0
    for image, species in batches:
        loss = nn.functional.cross_entropy(model(image), species)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        time.sleep(0.02)
    return total / len(batches)


@torch.no_grad()
def evaluate(model, args):
    model.eval()
    right = count = 0
    for image, species in held_out(args.held_out, args.batch):
        right += (model.module(image).argmax(1) == species).sum().item()
        count += len(species)
        time.sleep(0.05)
    result = torch.tensor([right, count])
    dist.all_reduce(result)
    return (result[0] / result[1]).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--held-out", type=int, default=30)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING)
    specimens = open_tray(rank)
    torch.manual_seed(0)
    model = DDP(network(args.width))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        loss = train_epoch(model, optimizer, loader(specimens, args.batch, args.batches, seed=epoch))
        specimens.catalogue.refresh_in_background()
        accuracy = evaluate(model, args)
        log.info("epoch %d loss %.3f accuracy %.3f", epoch, loss, accuracy)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
