"""Brightness of variable stars on glass plates: the plates are measured together, then a network is trained on them."""

import argparse
import logging
import shutil
import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tables import PlateTables

log = logging.getLogger("plates")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plates", type=int, default=14)
    parser.add_argument("--stars", type=int, default=240, help="stars per strip")
    parser.add_argument("--window", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    return parser.parse_args()


def measure_all(accelerator, args, folder):
    """The operators change the plate when every strip of it has been measured."""
    tables = PlateTables(accelerator, folder)
    for plate in range(args.plates):
        count = tables.measure(plate, args.stars)
        log.debug("plate %d: %d stars", plate, count)
        accelerator.wait_for_everyone()
    return tables.table()


def windows(table, width):
    """Pieces of a light curve, and the reading that comes next."""
    pieces = table.unfold(0, width + 1, 1)
    return TensorDataset(pieces[:, :-1].contiguous(), pieces[:, -1:].contiguous())


def fit(accelerator, args, data):
    model = nn.Sequential(nn.Linear(args.window, 48), nn.ReLU(), nn.Linear(48, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer = accelerator.prepare(model, optimizer)
    for epoch in range(args.epochs):
        total = 0.0
        loader = DataLoader(data, args.batch, shuffle=True)
        for past, reading in loader:
            loss = nn.functional.huber_loss(model(past), reading)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            total += loss.item()
        mean = accelerator.reduce(torch.tensor(total / len(loader)), reduction="mean")
        accelerator.print(f"epoch {epoch}: {mean.item():.4f}", flush=True)


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    set_seed(4, device_specific=True)
    folder = [tempfile.mkdtemp(prefix="plates") if accelerator.is_main_process else None]
    broadcast_object_list(folder)
    table = measure_all(accelerator, args, folder[0])
    fit(accelerator, args, windows(table, args.window))
    if accelerator.is_main_process:
        shutil.rmtree(folder[0])
    accelerator.end_training()


if __name__ == "__main__":
    main()
