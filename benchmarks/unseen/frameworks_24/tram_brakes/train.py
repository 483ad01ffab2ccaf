"""Wear of tram brakes with Accelerate; each process trains on its depot, and all inspect the fleet together."""

import argparse
import logging
import os
import tempfile
import time
from itertools import islice
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object, set_seed
from torch import nn

from archive import SIGNALS, Depot, wait_for

log = logging.getLogger("trams")
RUNS = [1120, 960, 1360]


class Calibration:
    """Scales of the signals; the main process measures them while the others look for the file."""

    def __init__(self, accelerator, folder):
        self.accelerator = accelerator
        self.path = folder / "scales.pt"

    def get(self):
        if self.accelerator.is_main_process:
            time.sleep(4.5)
            part = self.path.with_suffix(".part")
            torch.save(torch.full((SIGNALS,), 0.9), part)
            part.replace(self.path)
        wait_for(self.path)
        return torch.load(self.path)


class WearTrainer:
    def __init__(self, accelerator, args, scales):
        self.accelerator, self.args, self.scales = accelerator, args, scales
        net = nn.Sequential(nn.Linear(SIGNALS, 48), nn.ReLU(), nn.Linear(48, 1))
        self.model, self.optimizer = accelerator.prepare(net, torch.optim.AdamW(net.parameters(), lr=args.lr))
        self.left_out = 0

    def usable(self, signals):
        """Whether the batch is usable on every process."""
        good = torch.tensor(float(signals.isfinite().all()))
        return self.accelerator.reduce(good, "sum").item() == self.accelerator.num_processes

    def epoch(self, depot, batches):
        for signals, wear in islice(depot, batches):
            if not self.usable(signals):
                self.left_out += 1
                continue
            loss = nn.functional.mse_loss(self.model(signals * self.scales).squeeze(-1), wear)
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
            time.sleep(0.02)

    @torch.no_grad()
    def inspect(self, fleet):
        """Trams are looked at by turns; articulated ones take longer."""
        net = self.accelerator.unwrap_model(self.model)
        found = []
        with self.accelerator.split_between_processes(fleet) as mine:
            for tram in mine:
                time.sleep(0.6 if tram % 11 == 0 else 0.05)
                g = torch.Generator().manual_seed(tram)
                wear = net(torch.randn(30, SIGNALS, generator=g)).mean().item()
                if wear > 0.05:
                    found.append((tram, wear))
        return gather_object(found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--fleet", type=int, default=70)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)
    set_seed(14)
    accelerator = Accelerator(cpu=True)
    rank = accelerator.process_index
    folder = Path(tempfile.gettempdir()) / f"trams_{os.environ.get('MASTER_PORT', '0')}"
    folder.mkdir(parents=True, exist_ok=True)

    depot = Depot(rank, RUNS[rank], args.batch, folder).load()
    scales = Calibration(accelerator, folder).get()
    trainer = WearTrainer(accelerator, args, scales)
    batches = accelerator.gather(torch.tensor([len(depot)])).min().item()
    # trams in the order of their numbers, articulated ones first
    fleet = sorted(range(args.fleet), key=lambda tram: (tram % 11 != 0, tram))
    for epoch in range(args.epochs):
        trainer.epoch(depot, batches)
        found = trainer.inspect(fleet)
        accelerator.print(
            f"epoch {epoch}: {len(found)} trams to be seen, {trainer.left_out} batches left out", flush=True
        )
        if accelerator.is_main_process:
            accelerator.save(accelerator.unwrap_model(trainer.model).state_dict(), folder / f"wear{epoch}.pt")
            time.sleep(2.5)  # the share confirms late
        accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
