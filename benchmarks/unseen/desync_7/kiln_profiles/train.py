"""Which programme a kiln runs, by its temperatures; gradients of some batches are added up before they are averaged."""

import argparse
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from reader import CLASSES, LENGTH, ProfileReader


class ProfileNet(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.encode = nn.Linear(LENGTH, hidden)
        self.middle = nn.Linear(hidden, hidden)
        self.classify = nn.Linear(hidden, CLASSES)

    def forward(self, profile):
        hidden = self.encode(profile).relu()
        return self.classify(self.middle(hidden).relu())


class Session:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        self.reader = ProfileReader(self.rank, args.batch)
        self.model = DDP(ProfileNet(args.hidden))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.updates = 0

    def micro_step(self):
        """A batch. Every `accumulate`-th one averages the gradients over the ranks and updates the weights."""
        profile, kind = self.reader.read()
        last = self.reader.reads % self.args.accumulate == 0
        with nullcontext() if last else self.model.no_sync():
            loss = nn.functional.cross_entropy(self.model(profile), kind)
            (loss / self.args.accumulate).backward()
        if last:
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.updates += 1
        return loss.item()

    def run(self):
        smooth = None
        for batch in range(1, self.args.batches + 1):
            loss = self.micro_step()
            smooth = loss if smooth is None else 0.97 * smooth + 0.03 * loss
            if self.rank == 0 and batch % 80 == 0:
                print(f"batch {batch}, {self.updates} updates: {smooth:.3f}", flush=True)
        dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=800)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=48)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(11)
    dist.init_process_group("gloo")
    Session(args).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
