"""Number plates of a toll station, read with a recurrent network and CTC."""

import argparse
import logging
import pathlib
import tempfile

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from data import ALPHABET, Plates, collate
from engine import Engine, Recognizer


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plates", type=int, default=1280)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--workers", type=int, default=1)
    return parser.parse_args()


def checkpoint(folder, epoch, engine):
    if dist.get_rank() == 0:
        path = pathlib.Path(folder) / f"plates_{epoch}.pt"
        torch.save(engine.model.module.state_dict(), path)
    dist.barrier()


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    data = Plates(args.plates)
    sampler = DistributedSampler(data, shuffle=True, seed=17)
    loader = DataLoader(data, args.batch, sampler=sampler, collate_fn=collate, num_workers=args.workers)
    torch.manual_seed(1)
    model = DistributedDataParallel(Recognizer(8, args.width, len(ALPHABET) + 1))
    engine = Engine(model, torch.optim.AdamW(model.parameters(), lr=args.lr))
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            used = 0
            for images, texts, lengths in loader:
                used += engine.update(images, texts, lengths)
            checkpoint(folder, epoch, engine)
            if dist.get_rank() == 0:
                recent = engine.history[-used:]
                logging.info("epoch %d: %d batches, loss %.3f", epoch, used, sum(recent) / used)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
