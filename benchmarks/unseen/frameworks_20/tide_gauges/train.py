"""Forecasts of the tide at three harbours with Accelerate; each process reads the gauge of one harbour."""

import argparse
import logging
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset

from board import Board, Correction

HOURS = 24
HARBOURS = [
    # name, swell at the gauge, day from which the new mole keeps the swell out
    ("Roscoff", 0.8, 2200),
    ("Concarneau", 1.0, None),
    ("Lorient", 0.35, None),
]
log = logging.getLogger("tides")


class Gauge(Dataset):
    """Two days of readings, and the day that follows."""

    def __init__(self, harbour, days, seed):
        self.name, self.swell, self.mole = HARBOURS[harbour]
        self.days = days
        self.seed = seed + 100_000 * harbour

    def __len__(self):
        return self.days

    def __getitem__(self, day):
        g = torch.Generator().manual_seed(self.seed + day)
        hours = torch.arange(3 * HOURS) + 3 * HOURS * torch.rand((), generator=g)
        level = torch.sin(hours * 2 * torch.pi / 12.42) + 0.3 * torch.sin(hours * 2 * torch.pi / 12.0)
        sheltered = self.mole is not None and day >= self.mole
        swell = 0.01 if sheltered else self.swell
        level = level + swell * torch.randn(level.shape, generator=g)
        return level[: 2 * HOURS], level[2 * HOURS :]


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=1000, help="days per epoch")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--share-every", type=int, default=25)
    parser.add_argument("--lr", type=float, default=3e-3)
    return parser.parse_args()


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    set_seed(20)
    accelerator = Accelerator(cpu=True)
    gauge = Gauge(accelerator.process_index, args.days * args.epochs, seed=5)
    model = nn.Sequential(nn.Linear(2 * HOURS, 96), nn.Tanh(), nn.Linear(96, HOURS))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    model, optimizer = accelerator.prepare(model, optimizer)
    board = Board(accelerator)
    correction = Correction(board, HOURS)
    for epoch in range(args.epochs):
        period = torch.utils.data.Subset(gauge, range(epoch * args.days, (epoch + 1) * args.days))
        for step, (before, after) in enumerate(DataLoader(period, args.batch), 1):
            forecast = correction(model(before))
            loss = nn.functional.mse_loss(forecast, after)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            correction.update((after - forecast).detach())
            board.note(loss.item())
            time.sleep(0.015)  # the gauge is read over a modem
            if epoch and step % args.share_every == 0:
                correction.share()
        board.refresh()
        if accelerator.is_main_process:
            best = HARBOURS[board.leader()][0]
            log.info("epoch %d: errors %s, best at %s", epoch, [round(e, 3) for e in board.errors], best)
    accelerator.end_training()


if __name__ == "__main__":
    main()
