"""Arrival times of radio bursts: regression over spectra of three telescopes, one for each process."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from evaluation import ErrorBook, evaluate
from sky import BINS, Night


class ArrivalNet(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(BINS, width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, 1),
        )

    def forward(self, spectra):
        return self.layers(spectra).squeeze(1).sigmoid()


def train_night(model, optimizer, scheduler, night, batch):
    for spectra, arrival, _ in night.batches(batch):
        loss = nn.functional.l1_loss(model(spectra), arrival)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        time.sleep(0.02)
    scheduler.step()
    return loss.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=12)
    parser.add_argument("--bursts", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--dropout", type=float, default=0.05)
    args = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    telescope = dist.get_rank()
    torch.manual_seed(21)
    model = DistributedDataParallel(ArrivalNet(args.width, args.dropout))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.nights)
    book = ErrorBook()
    torch.manual_seed(50 + telescope)
    for number in range(args.nights):
        loss = train_night(model, optimizer, scheduler, Night(telescope, number, args.bursts), args.batch)
        means = evaluate(model.module, Night(telescope, number, 200), book)
        if telescope == 0:
            line = ", ".join(f"{kind} {mean:.3f}" for kind, mean in means.items())
            print(f"night {number}: loss {loss:.4f}; {line}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
