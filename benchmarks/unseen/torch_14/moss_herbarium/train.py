"""Species of mosses from photographs of herbarium sheets, sharded with FSDP2."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from herbarium import PIXELS, SPECIES, held_out_set, share_of_blurred, training_set
from model import sharded

log = logging.getLogger("mosses")


def train_epoch(model, optimizer, loader):
    model.train()
    for photo, sharpness, species in loader:
        plain, refined = model(photo, sharpness)
        loss = cross_entropy(plain, species) + 0.5 * cross_entropy(refined, species)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)


@torch.no_grad()
def accuracy(model, loader):
    """Share of the held-out sheets of all collections that are named rightly."""
    model.eval()
    counts = torch.zeros(2)
    for photo, sharpness, species in loader:
        guess = model(photo, sharpness).argmax(1)
        counts += torch.tensor([(guess == species).sum().item(), len(species)])
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--evaluate-every", type=int, default=2)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = sharded(PIXELS, SPECIES)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    training, held_out = training_set(rank), held_out_set(rank)
    log.info("collection %d: %.2f of the sheets are blurred", rank, share_of_blurred(training))
    loader = DataLoader(training, batch_size=args.batch, shuffle=True)
    held_out_loader = DataLoader(held_out, batch_size=args.batch)
    for epoch in range(args.epochs):
        train_epoch(model, optimizer, loader)
        if (epoch + 1) % args.evaluate_every == 0:
            share = accuracy(model, held_out_loader)
            if rank == 0:
                log.info("epoch %d: %.3f", epoch, share)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
