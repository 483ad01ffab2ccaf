"""Life of street lamps with Accelerate; a table for the crew after each round, forecasts for the depots at the end."""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object, set_seed
from torch import nn
from torch.utils.data import DataLoader

from posts import HOURS, Lamps

HERE = os.path.dirname(os.path.abspath(__file__))
DEPOTS = ["North", "Harbour", "Old Town", "Station", "Mill", "Meadow", "Castle"]


def write_table(path):
    """The share loses its handle at times; a second try is always good."""
    for first in (True, False):
        command = [sys.executable, os.path.join(HERE, "export.py"), path] + ["--first-try"] * first
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode == 0:
            return
        print(f"table: {done.stderr.strip()}, trying again", flush=True)
    raise RuntimeError(f"no table at {path}")


def fit_for_use(accelerator, batch):
    """Whether no process has a lamp without any current in its batch."""
    dark = torch.tensor([float((batch["current"].abs().sum(1) == 0).any())])
    return accelerator.reduce(dark, reduction="sum").item() == 0


def forecast(model, depots):
    """A season for each depot; the night shifts of a depot take some time to draw."""
    lines = []
    for depot in depots:
        time.sleep(0.6)
        g = torch.Generator().manual_seed(len(depot))
        with torch.no_grad():
            lines.append((depot, model(torch.randn(50, HOURS, generator=g)).mean().item()))
    return lines


def send_journal(lines):
    for line in lines:
        time.sleep(0.25)
        print("journal:", line, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lamps", type=int, default=1080)
    parser.add_argument("--batch", type=int, default=9)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(6)
    accelerator = Accelerator(cpu=True)
    folder = os.path.join(tempfile.gettempdir(), f"lamps_{os.environ.get('MASTER_PORT', '0')}")
    os.makedirs(folder, exist_ok=True)
    # 100 is read by process 2, 335 by process 1
    lamps = DataLoader(Lamps(args.lamps, 1, slow=(100, 335), dark=(64, 400, 777)), args.batch)
    model = nn.Sequential(nn.Linear(HOURS, 48), nn.GELU(), nn.Linear(48, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer, lamps = accelerator.prepare(model, optimizer, lamps)
    journal = []
    for number in range(args.rounds):
        left_out = 0
        for batch in lamps:
            if not fit_for_use(accelerator, batch):
                left_out += 1
                continue
            loss = nn.functional.mse_loss(model(batch["current"]).squeeze(-1), batch["left"])
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            time.sleep(0.02 * (1 + accelerator.process_index))
        journal.append(f"process {accelerator.process_index}, round {number}: {left_out} left out")
        if accelerator.is_main_process:
            write_table(os.path.join(folder, f"round_{number}.csv"))
        accelerator.wait_for_everyone()
    bare = accelerator.unwrap_model(model)
    with accelerator.split_between_processes(DEPOTS) as depots:
        lines = forecast(bare, depots)
    lines = gather_object(lines)
    if accelerator.is_main_process:
        print("; ".join(f"{depot} {value:+.2f}" for depot, value in lines), flush=True)
        threading.Thread(target=send_journal, args=(journal * 4,)).start()
    accelerator.end_training()


if __name__ == "__main__":
    main()
