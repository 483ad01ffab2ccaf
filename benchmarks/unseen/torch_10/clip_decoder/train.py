"""Action of a clip from the mean features of its frames."""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from clips import Clips


class Runner:
    def __init__(self, args):
        self.args = args
        torch.manual_seed(0)
        self.model = DistributedDataParallel(nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 4)))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9)
        data = Clips()
        sampler = DistributedSampler(data, shuffle=False)
        self.loader = DataLoader(
            data, args.batch_size, sampler=sampler, num_workers=args.workers, persistent_workers=True, prefetch_factor=2
        )

    def train(self, epoch):
        hits = torch.zeros(2)
        for features, action in self.loader:
            logits = self.model(features)
            loss = nn.functional.cross_entropy(logits, action)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            hits += torch.tensor([(logits.argmax(1) == action).sum(), len(action)])
            time.sleep(0.04)
        dist.all_reduce(hits)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} accuracy {hits[0] / hits[1]:.3f}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--batch-size", type=int, default=12)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--workers", type=int, default=1)
    args = p.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    runner = Runner(args)
    for epoch in range(args.epochs):
        runner.train(epoch)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
