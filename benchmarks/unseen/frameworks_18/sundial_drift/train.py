"""Corrections of sundials with Accelerate. After each epoch the main process has the table printed by another program."""

import argparse
import logging
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from dials import QUANTITIES, Archive, Readings

# the second process has the shelves that are copied today
BUSY = {626: 3, 1100: 4, 2064: 3}


def build():
    return nn.Sequential(nn.Linear(QUANTITIES, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))


class Pulse(threading.Thread):
    """Tells the log every few seconds that the process is alive; ends with it."""

    def __init__(self, every):
        super().__init__(name="pulse", daemon=True)
        self.every = every
        self.step = 0
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(self.every):
            logging.info("at step %d", self.step)


def print_table(model, folder, epoch):
    weights, table = folder / "weights.pt", folder / f"table{epoch}.txt"
    torch.save(model.state_dict(), weights)
    program = Path(__file__).with_name("almanac.py")
    subprocess.run([sys.executable, str(program), str(weights), str(table)], check=True)
    return len(table.read_text().splitlines())


@torch.no_grad()
def hardest(model, readings, rounds):
    """The reading with the largest error, on this process alone and without the wrapper."""
    worst, where = 0.0, None
    for first in range(0, rounds):
        minutes = readings.archive.minutes[first::rounds]
        errors = (model(readings.archive.inputs[first::rounds]).squeeze(-1) - minutes).abs()
        if errors.max() > worst:
            worst, where = errors.max().item(), first + rounds * errors.argmax().item()
    return worst, where


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--readings", type=int, default=3600)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(process)d %(message)s")
    torch.set_num_threads(1)
    set_seed(14)
    accelerator = Accelerator(cpu=True)
    busy = BUSY if accelerator.process_index == 1 else {}
    readings = Readings(Archive(args.readings, busy))
    loader = DataLoader(readings, args.batch)
    model = build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    pulse = Pulse(every=4.0)
    pulse.start()
    with tempfile.TemporaryDirectory(prefix="sundial_") as folder:
        for epoch in range(args.epochs):
            for inputs, minutes in loader:
                loss = nn.functional.smooth_l1_loss(model(inputs).squeeze(-1), minutes)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
                pulse.step += 1
            if accelerator.is_main_process:
                lines = print_table(accelerator.unwrap_model(model), Path(folder), epoch)
                logging.info("epoch %d: table of %d lines", epoch, lines)
            elif accelerator.is_last_process:
                worst, where = hardest(accelerator.unwrap_model(model), readings, rounds=400)
                logging.info("epoch %d: %.2f minutes off at reading %s", epoch, worst, where)
            accelerator.wait_for_everyone()
    pulse.over.set()
    accelerator.end_training()


if __name__ == "__main__":
    main()
