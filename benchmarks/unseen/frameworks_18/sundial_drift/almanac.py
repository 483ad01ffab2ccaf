"""Prints the table of corrections of a network, for the engraver: a line for every fifth day, a column for every hour."""

import argparse
import time

import torch

from dials import QUANTITIES
from train import build


HOURS = 13


def conditions(day):
    """Inputs of the network for the hours of a day with average weather."""
    row = torch.zeros(HOURS, QUANTITIES)
    row[:, 0] = day / 365 * 4 - 2
    row[:, 1] = torch.linspace(-1.5, 1.5, HOURS)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("weights")
    parser.add_argument("table")
    parser.add_argument("--every", type=int, default=5, help="days")
    args = parser.parse_args()
    model = build()
    model.load_state_dict(torch.load(args.weights))
    model.eval()
    with open(args.table, "w") as out, torch.no_grad():
        for day in range(0, 365, args.every):
            row = conditions(day)
            minutes = model(row).squeeze(-1)
            out.write(f"{day:3d} " + " ".join(f"{m:6.2f}" for m in minutes.tolist()) + "\n")
            out.flush()
            time.sleep(0.05)  # the plotter takes a line at a time


if __name__ == "__main__":
    main()
