"""Sorts the sources of a star atlas (Accelerate): each process has its own part of the sky."""

import argparse
import logging
import os
import tempfile
import time

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, set_seed
from torch import nn

from plates import CLASSES, PIXELS, TapeDrive, publish, read_plates

log = logging.getLogger("atlas")


class Sorter(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(PIXELS, width), nn.SiLU(), nn.Linear(width, CLASSES))

    def forward(self, cutouts):
        return self.net(cutouts)


def train_epoch(accelerator, model, optimizer, cutouts, kinds, batch):
    order = torch.randperm(len(kinds))
    for rows in order.split(batch):
        loss = nn.functional.cross_entropy(model(cutouts[rows]), kinds[rows])
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.01)
    return loss.detach()


@torch.no_grad()
def doubtful(accelerator, model, cutouts):
    """The sources of all processes that the model is least sure of; each process may have another number of them."""
    net = accelerator.unwrap_model(model)
    sure = net(cutouts).softmax(-1).max(-1).values
    rows = torch.nonzero(sure < 0.5).flatten()
    for _ in rows[: 30 * accelerator.process_index]:
        time.sleep(0.05)  # compared with the old catalogue
    count = accelerator.gather(torch.tensor([len(rows)]))
    padded = accelerator.pad_across_processes(sure[rows], pad_index=1.0)
    return count.tolist(), accelerator.gather(padded)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sources", type=int, default=800)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--goal", type=float, default=0.2)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    set_seed(12)
    accelerator = Accelerator(cpu=True)
    folder = [tempfile.mkdtemp(prefix="atlas_") if accelerator.is_main_process else None]
    folder = broadcast_object_list(folder)[0]
    drive = TapeDrive(os.path.join(folder, "drive.lock"))
    cutouts, kinds = read_plates(drive, args.sources, accelerator.process_index)
    model = Sorter()
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=3e-3))
    for epoch in range(args.epochs):
        loss = train_epoch(accelerator, model, optimizer, cutouts, kinds, args.batch)
        if loss < args.goal:
            accelerator.set_trigger()
        if accelerator.check_trigger():
            accelerator.print(f"goal reached in epoch {epoch}", flush=True)
            break
    counts, least = doubtful(accelerator, model, cutouts)
    accelerator.print(f"doubtful sources: {counts}, least sure {least.min().item():.3f}", flush=True)
    if accelerator.is_main_process:
        attempts = publish(folder, "sorter.pt", accelerator.unwrap_model(model).state_dict())
        log.info("published after %d attempts", attempts)
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
        os.rmdir(folder)
    accelerator.end_training()


if __name__ == "__main__":
    main()
