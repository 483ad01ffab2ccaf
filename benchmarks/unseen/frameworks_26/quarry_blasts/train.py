"""Peak velocity of blasts with Accelerate, trained in shifts that share the machine with the crusher's control."""

import argparse
import logging
import os
import tempfile
import time
from dataclasses import dataclass

import torch
from accelerate import Accelerator, skip_first_batches
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from data import CHANNELS, MISFIRES, Blasts
from journal import Journal

log = logging.getLogger("quarry")


@dataclass
class Shift:
    day: int
    until: int | None  # None: to the end of the day's data


class Foreman:
    def __init__(self, accelerator, model, optimizer, train, held_out, journal, alarm):
        self.accelerator = accelerator
        self.model = model
        self.optimizer = optimizer
        self.train = train
        self.held_out = held_out
        self.journal = journal
        self.alarm = alarm

    def work(self, shift):
        done = self.journal.position(shift.day)
        for number, batch in enumerate(skip_first_batches(self.train, done), done):
            if shift.until is not None and number == shift.until:
                break
            loss = nn.functional.mse_loss(self.model(batch["signal"]).squeeze(-1), batch["velocity"])
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.journal.step(shift.day, number, loss.item())
            peak = batch["signal"].abs().max().item()
            if peak > self.alarm:
                self.journal.remark(shift.day, f"geophone at {peak:.1f}, look at the drilling log")
            time.sleep(0.02)

    @torch.no_grad()
    def examine(self):
        self.model.eval()
        errors = []
        for batch in self.held_out:
            error = (self.model(batch["signal"]).squeeze(-1) - batch["velocity"]).abs()
            errors.append(self.accelerator.gather_for_metrics(error))
        self.model.train()
        return torch.cat(errors).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--blasts", type=int, default=2160)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--days", type=int, default=3)
    parser.add_argument("--shift", type=int, default=60, help="batches in the first shift of a day")
    parser.add_argument("--alarm", type=float, default=8.0)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    set_seed(5)
    accelerator = Accelerator(cpu=True)
    # blasts stay in the order of the permit, as the authority wants them
    train = DataLoader(Blasts(args.blasts, 1, MISFIRES), args.batch)
    held_out = DataLoader(Blasts(192, 2), args.batch)
    model = nn.Sequential(nn.Linear(CHANNELS, 64), nn.SiLU(), nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model, optimizer, train, held_out = accelerator.prepare(model, optimizer, train, held_out)
    folder = os.path.join(tempfile.gettempdir(), f"quarry_{os.environ.get('MASTER_PORT', '0')}")
    journal = Journal(folder, accelerator.process_index)
    foreman = Foreman(accelerator, model, optimizer, train, held_out, journal, args.alarm)
    for day in range(args.days):
        for shift in (Shift(day, args.shift), Shift(day, None)):
            foreman.work(shift)
        error = foreman.examine()
        if accelerator.is_main_process:
            log.info("day %d: mean error %.3f mm/s", day, error)
    accelerator.end_training()


if __name__ == "__main__":
    main()
