"""A model of symbols in opera scores, with an average of its weights on all processes.

The houses have different numbers of pages: an epoch has as many as the smallest of them.
"""
import argparse
import copy
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from archive import Journal, pack
from pages import SYMBOLS, House

log = logging.getLogger("opera")
PAGES = (90, 110, 75)


class Scribe(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS, width)
        self.cell = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, SYMBOLS)

    def forward(self, symbols):
        return self.out(self.cell(self.embed(symbols))[0])


class Average:
    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for mean, value in zip(self.model.parameters(), model.parameters()):
            mean.lerp_(value, 1 - self.decay)


def shortest(pages):
    length = torch.tensor([pages])
    dist.all_reduce(length, op=dist.ReduceOp.MIN)
    return int(length)


def fit_to_print(model, page):
    """Whether all processes have a page with more than one symbol and a finite loss."""
    logits = model(page[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), page[:, 1:].flatten())
    verdict = torch.tensor([int(torch.isfinite(loss)), int(page.unique().numel() > 1)])
    dist.all_reduce(verdict, op=dist.ReduceOp.MIN)
    return loss, bool(verdict.min())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--decay", type=float, default=0.98)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO)
    torch.manual_seed(0)
    model = DDP(Scribe(args.width))
    average = Average(model.module, args.decay)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    journal = Journal(seconds_per_line=0.5) if rank == 2 else None
    for epoch in range(args.epochs):
        house = House(rank, PAGES[rank], slow_page=60 if rank == 0 and epoch == 1 else None)
        loss = torch.zeros(())
        for _, page in zip(range(shortest(house.pages)), house):
            loss, sound = fit_to_print(model, page)
            if sound:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                average.update(model.module)
            if journal is not None and _ % 15 == 0:
                journal.write(f"epoch {epoch} loss {loss.item():.3f}")
        if rank == 0:
            size = pack(average.model.state_dict(), pause=0.7)
            log.info("epoch %d: loss %.3f, %d bytes packed", epoch, loss.item(), size)
        dist.barrier()
    dist.destroy_process_group()
    if journal is not None:
        journal.close()


if __name__ == "__main__":
    main()
