"""Which strings of a harp are out of tune, from the spectrum of a chord (DDP, Adam)."""
import argparse
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from archive import Archive

STRINGS = 22


def chords(rank, count):
    g = torch.Generator().manual_seed(60 + rank)
    off = 0.5 * torch.randn(count, STRINGS, generator=g)
    body = torch.randn(STRINGS, 64, generator=torch.Generator().manual_seed(3)) / STRINGS ** 0.5
    return torch.tanh(off @ body) + 0.05 * torch.randn(count, 64, generator=g), (off.abs() > 0.6).float()


class Session:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        torch.manual_seed(8)
        net = nn.Sequential(nn.Linear(64, 384), nn.GELU(), nn.Linear(384, 384), nn.GELU(), nn.Linear(384, STRINGS))
        self.model = DDP(net)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.spectra, self.out_of_tune = chords(self.rank, args.chords)
        self.archive = Archive(rate=args.rate * 1024) if self.rank == 0 else None

    def epoch(self):
        order = torch.randperm(len(self.spectra))
        for pick in order.split(self.args.batch):
            loss = nn.functional.binary_cross_entropy_with_logits(self.model(self.spectra[pick]), self.out_of_tune[pick])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.01)
        return loss.item()

    def checkpoint(self, epoch, complete):
        """The weights after each epoch; at the milestones also what is needed to go on from there."""
        if self.archive is not None:
            parts = {"weights": self.model.module.state_dict()}
            if complete:
                parts.update(optimizer=self.optimizer.state_dict(), spectra=self.spectra, marks=self.out_of_tune)
            size = self.archive.save(f"epoch{epoch}", **parts)
            print(f"checkpoint of epoch {epoch}: {size / 1024:.0f} KiB", flush=True)
        dist.barrier()

    def run(self):
        for epoch in range(1, self.args.epochs + 1):
            loss = self.epoch()
            self.checkpoint(epoch, complete=epoch % self.args.milestone == 0)
            if self.rank == 0:
                print(f"epoch {epoch} loss {loss:.4f}", flush=True)
        if self.archive is not None:
            self.archive.remove()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--milestone", type=int, default=2)
    parser.add_argument("--chords", type=int, default=3000)
    parser.add_argument("--batch", type=int, default=60)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--rate", type=int, default=180, help="KiB a second")
    parser.add_argument("--timeout", type=float, default=12.0, help="seconds after which a lost process is given up")
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=args.timeout))
    Session(args).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
