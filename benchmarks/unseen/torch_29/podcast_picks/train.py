"""Two-tower recommender for podcasts.

Ranks 0 and 1 keep the profile table (the `profile` group); all ranks train the towers.
"""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from ledger import Ledger
from plays import LISTENERS, SHOWS, Log

HOURS = 60


class Towers(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.listener = nn.Embedding(LISTENERS, width)
        self.show = nn.Embedding(SHOWS, width)
        self.mix = nn.Linear(width, 1)

    def forward(self, listener, show):
        return self.mix(self.listener(listener) * self.show(show)).squeeze(-1)


def count(ledger, new, finished, keeps_profiles, profile):
    """Goes through the plays in the order in which they happened."""
    for fresh, done in zip(new.tolist(), finished.tolist()):
        if fresh and keeps_profiles:
            ledger.add("new_listeners", 1.0, group=profile)
        ledger.add("finished", done, group=dist.group.WORLD)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    profile = dist.new_group([0, 1])
    torch.manual_seed(2)
    model = DDP(Towers())
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    ledger, log = Ledger(), Log(rank)

    for hour in range(HOURS):
        for listener, show, finished, new in log.hour(hour):
            loss = nn.functional.binary_cross_entropy_with_logits(model(listener, show), finished)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count(ledger, new, finished, rank < 2, profile)
        ledger.settle()
        if rank == 0 and hour % 5 == 0:
            print(f"hour {hour}: {ledger.totals}", flush=True)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
