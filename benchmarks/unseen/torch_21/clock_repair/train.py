"""Recognises the worn part of a clock from the sound of its beat; weights of the kinds follow the repair books."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset

import census

# Periods in which a workshop took in clocks for service only.
SERVICE_ONLY = {0: (), 1: (), 2: (3, 7), 3: (5,)}


class Beats(Dataset):
    """Spectra of beats with a worn part, rendered from the part's own resonances."""

    def __init__(self, count, bins, seed):
        g = torch.Generator().manual_seed(seed)
        shapes = torch.randn(len(census.KINDS), bins, generator=torch.Generator().manual_seed(9))
        self.kind = torch.randint(0, len(census.KINDS), (count,), generator=g)
        self.spectrum = shapes[self.kind] + 1.2 * torch.randn(count, bins, generator=g)

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, index):
        return self.spectrum[index], self.kind[index]


class Listener(nn.Module):
    def __init__(self, bins, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(bins, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, width), nn.GELU())
        self.kinds = nn.Linear(width, len(census.KINDS))

    def forward(self, spectrum):
        return self.kinds(self.body(spectrum))


class Workshop:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        torch.manual_seed(args.seed)
        self.model = DDP(Listener(args.bins, args.width))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.book = census.RepairBook(self.rank, args.periods, args.visits, SERVICE_ONLY.get(self.rank, ()))
        self.loader = DataLoader(Beats(args.beats, args.bins, seed=100 + self.rank), args.batch, shuffle=True)
        self.weight = torch.ones(len(census.KINDS))

    def reweigh(self, period):
        counts = census.tally(self.book.visits(period))
        dist.all_reduce(counts)
        self.weight = census.weights_from(counts)

    def run_period(self):
        total = torch.zeros(2)
        for spectrum, kind in self.loader:
            loss = nn.functional.cross_entropy(self.model(spectrum), kind, weight=self.weight)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            total += torch.tensor([loss.item(), 1.0])
            time.sleep(0.01)
        dist.all_reduce(total)
        return (total[0] / total[1]).item()

    def fit(self):
        for period in range(self.args.periods):
            self.reweigh(period)
            loss = self.run_period()
            if self.rank == 0:
                top = census.KINDS[int(self.weight.argmin())]
                print(f"period {period}: loss {loss:.3f}, most frequent {top}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--periods", type=int, default=10)
    parser.add_argument("--visits", type=int, default=60)
    parser.add_argument("--beats", type=int, default=1600)
    parser.add_argument("--bins", type=int, default=40)
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Workshop(args).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
