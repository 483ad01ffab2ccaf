"""Who made a pane of stained glass: a classifier with Accelerate, and a catalogue that appears as it learns."""

import argparse
import contextlib
import logging
import shutil
import tempfile
import time

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, set_seed
from torch import nn
from torch.utils.data import DataLoader

from catalogue import Warden, bind
from glass import BANDS, MAKERS, Panes, UnsteadyShelf, palette, patiently

log = logging.getLogger("glass")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--panes", type=int, default=610)
    parser.add_argument("--held-out", type=int, default=101)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--good", type=float, default=0.15, help="a loss at which the epoch may end")
    return parser.parse_args()


def train_epoch(accelerator, model, optimizer, loader, good):
    """An epoch, or a part of it: it ends for all as soon as one process finds its pane easy after 15 steps."""
    for step, (spectrum, maker) in enumerate(loader, 1):
        loss = nn.functional.cross_entropy(model(spectrum), maker)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        if step > 15 and loss.item() < good:
            accelerator.set_trigger()
        if accelerator.check_trigger():
            break
    return step


@torch.no_grad()
def accuracy(accelerator, model, loader):
    model.eval()
    right = count = 0
    for spectrum, maker in loader:
        guess = model(spectrum).argmax(-1)
        guess, maker = accelerator.gather_for_metrics((guess, maker))
        right += int((guess == maker).sum())
        count += len(maker)
    model.train()
    return right / count


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    set_seed(17)
    accelerator = Accelerator(cpu=True)
    folder = [tempfile.mkdtemp(prefix="glass") if accelerator.is_main_process else None]
    broadcast_object_list(folder)
    with accelerator.main_process_first():
        spectra = palette(f"{folder[0]}/palette.pt")
    shelf = UnsteadyShelf(refusals=(0, 1, 3)[accelerator.process_index % 3])
    patiently(shelf.fetch, "south aisle")
    model = nn.Sequential(nn.Linear(BANDS, 64), nn.ReLU(), nn.Linear(64, MAKERS))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    train = DataLoader(Panes(spectra, args.panes, seed=1), args.batch, shuffle=True)
    held_out = DataLoader(Panes(spectra, args.held_out, seed=2), args.batch)
    model, optimizer, train, held_out = accelerator.prepare(model, optimizer, train, held_out)
    with Warden() if accelerator.is_main_process else contextlib.nullcontext():
        for epoch in range(args.epochs):
            steps = train_epoch(accelerator, model, optimizer, train, args.good)
            score = accuracy(accelerator, model, held_out)
            if accelerator.is_main_process:
                log.info("epoch %d: %d steps, %.3f right, %d pages", epoch, steps, score, bind(epoch))
            elif accelerator.is_last_process:
                time.sleep(1.5)  # the panes of this bench go back into their crates
            accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        shutil.rmtree(folder[0])
    accelerator.end_training()


if __name__ == "__main__":
    main()
