"""To which floor a call goes. Gradients are summed over slots and exchanged when the window closes."""

import argparse
import contextlib
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from calls import FLOORS, slots_of

logger = logging.getLogger(__name__)


class Window:
    """Counts calls until there are enough of them for an update of the weights."""

    def __init__(self, target):
        self.target = target
        self.calls = 0
        self.updates = 0

    def closes_with(self, calls):
        self.calls += calls
        return self.calls >= self.target

    def close(self):
        self.calls = 0
        self.updates += 1


class Dispatcher(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.hidden = nn.Linear(FLOORS + 1, width)
        self.out = nn.Linear(width, FLOORS)

    def forward(self, calls):
        return self.out(torch.relu(self.hidden(calls)))


class Trainer:
    def __init__(self, model, loader, args):
        self.model = DistributedDataParallel(model)
        self.loader = loader
        self.args = args
        self.window = Window(args.calls_per_update)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    def exchange(self, closing):
        return contextlib.nullcontext() if closing else self.model.no_sync()

    def slot(self, calls, floors):
        closing = self.window.closes_with(len(calls))
        with self.exchange(closing):
            loss = nn.functional.cross_entropy(self.model(calls), floors, reduction="sum")
            (loss / self.args.calls_per_update).backward()
        if closing:
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.window.close()
        return loss.item() / len(calls)

    def fit(self):
        for index, (calls, floors) in enumerate(self.loader):
            loss = self.slot(calls, floors)
            if index % 100 == 0 and dist.get_rank() == 0:
                logger.info("slot %d, update %d: %.3f", index, self.window.updates, loss)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--slots", type=int, default=600)
    parser.add_argument("--calls-per-update", type=int, default=64)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(2)
    Trainer(Dispatcher(), slots_of(dist.get_rank(), args.slots), args).fit()
    dist.barrier()
    logger.info("rank %d has finished", dist.get_rank())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
