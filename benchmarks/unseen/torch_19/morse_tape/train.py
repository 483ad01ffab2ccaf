"""Reads Morse tapes: a recurrent network tells dots from dashes whatever the speed of the operator."""
import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from tapes import Archive, Marks

log = logging.getLogger("morse")


class Reader(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.rnn = nn.GRU(2, width, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, 1)

    def forward(self, lengths):
        states, _ = self.rnn(lengths)
        return self.out(states)[..., 0]


class Epochs:
    def __init__(self, args):
        torch.manual_seed(3)
        self.model = DDP(Reader(args.width))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        marks = Marks(Archive(dist.get_rank(), args.tapes))
        self.loader = DataLoader(marks, batch_size=args.batch, num_workers=args.workers, persistent_workers=True)

    def run(self):
        right = torch.zeros(2)
        for lengths, dashes in self.loader:
            logits = self.model(lengths)
            loss = nn.functional.binary_cross_entropy_with_logits(logits, dashes)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            right += torch.tensor([((logits > 0) == (dashes > 0.5)).sum().item(), dashes.numel()])
        dist.all_reduce(right)
        return (right[0] / right[1]).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--tapes", type=int, default=120)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--lr", type=float, default=4e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    epochs = Epochs(args)
    for epoch in range(args.epochs):
        accuracy = epochs.run()
        if dist.get_rank() == 0:
            log.info("epoch %d: %.1f %% of the marks are right", epoch, 100 * accuracy)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
