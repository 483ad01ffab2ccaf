"""Finds cracks in the strain signals of bridges; every process has a bridge of its own."""
import argparse
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim.lr_scheduler import ReduceLROnPlateau

from inspection import Inspection
from spans import Spans


def block(inside, outside):
    return nn.Sequential(
        nn.Conv1d(inside, outside, 5, stride=2, padding=2, bias=False), nn.GroupNorm(2, outside), nn.ReLU()
    )


class CrackNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.BatchNorm1d(1, momentum=0.01)
        self.body = nn.Sequential(block(1, width), block(width, 2 * width), block(2 * width, 2 * width))
        self.head = nn.Linear(2 * width, 1)

    def forward(self, signal):
        return self.head(self.body(self.scale(signal)).mean(2))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--spans", type=int, default=480)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--maps-from", type=int, default=2, help="first epoch after which maps are drawn")
    return parser.parse_args()


def run_epoch(model, optimizer, data, batch, random):
    for signal, cracked in data.batches(batch, random):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(signal)[:, 0], cracked)
        loss.backward()
        optimizer.step()
        time.sleep(0.02)


def main():
    args = arguments()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(5)
    model = DDP(CrackNet(args.width))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    plateau = ReduceLROnPlateau(optimizer, patience=2)
    data = Spans(rank, args.spans, seed=1)
    random = torch.Generator().manual_seed(rank)
    with tempfile.TemporaryDirectory(prefix="cracks_") as folder:
        inspection = Inspection(folder, Spans(rank, 160, seed=2), args.batch, args.maps_from)
        for epoch in range(args.epochs):
            run_epoch(model, optimizer, data, args.batch, random)
            loss = inspection.after_epoch(model, epoch)
            plateau.step(loss)
            if rank == 0:
                print(f"epoch {epoch}: validation {loss:.4f}, lr {optimizer.param_groups[0]['lr']:.1e}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
