"""Which bell a tram rings: DDP over the stops of a line, with a common decision on when to stop."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from export import Packer
from recordings import KINDS, SAMPLES, Archive, Recordings

# recordings that are on tape, with the number of attempts that fail
ON_TAPE = ({}, {150: 3}, {70: 2, 211: 1})


class Stopper:
    """Stops when no stop of the line has become better for `patience` epochs. All processes decide alike."""

    def __init__(self, patience):
        self.patience = patience
        self.best = float("inf")
        self.bad = 0

    def __call__(self, loss):
        self.bad = 0 if loss < self.best - 1e-3 else self.bad + 1
        self.best = min(self.best, loss)
        vote = torch.tensor([int(self.bad < self.patience)])
        dist.all_reduce(vote, op=dist.ReduceOp.MAX)
        return vote.item() == 0


def listen_closely(model, rounds, pause):
    """Rank 0 alone: the bare network on distorted bells; the wrapper is left alone."""
    worst = 0.0
    g = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for _ in range(rounds):
            worst = max(worst, model(torch.randn(8, SAMPLES, generator=g)).abs().max().item())
            time.sleep(pause)
    return worst


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--recordings", type=int, default=256)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--patience", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(4)
    net = DDP(nn.Sequential(nn.Linear(SAMPLES, 32), nn.ReLU(), nn.Linear(32, KINDS)))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    data = Recordings(Archive(rank, ON_TAPE[rank % len(ON_TAPE)]), args.recordings)
    loader = DataLoader(data, batch_size=args.batch, num_workers=1, persistent_workers=True)
    stopper = Stopper(args.patience)
    for epoch in range(args.epochs):
        total = 0.0
        for wave, kind in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(wave), kind)
            loss.backward()
            optimizer.step()
            total += loss.item()
            time.sleep(0.01)
        worst = listen_closely(net.module, rounds=25, pause=0.1) if rank == 0 and epoch % 2 else None
        done = stopper(total / len(loader))
        if rank == 0:
            print(f"epoch {epoch}: loss {total / len(loader):.3f}, loudest {worst}", flush=True)
        if done:
            break
    size = [Packer().pack(net.module, "bells.bin") if rank == 0 else None]
    dist.broadcast_object_list(size, src=0)
    print(f"stop {rank}: {size[0]} bytes received", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
