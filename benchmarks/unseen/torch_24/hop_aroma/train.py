"""Varieties of hops from gas chromatograms; DDP with weight averaging in the last epochs."""
import argparse
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from averaging import WeightAveraging
from chromatograms import POINTS, VARIETIES, split


def network(width=24):
    return nn.Sequential(
        nn.Linear(POINTS, width), nn.BatchNorm1d(width), nn.ReLU(),
        nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(),
        nn.Linear(width, len(VARIETIES)),
    )


class Trainer:
    def __init__(self, args, callbacks):
        self.args = args
        self.callbacks = callbacks
        training, self.testing = split(dist.get_rank(), dist.get_world_size(), args.samples)
        self.loader = DataLoader(training, batch_size=args.batch, shuffle=True, drop_last=True)
        torch.manual_seed(1)
        self.net = DDP(network())
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=args.lr, momentum=0.9)
        torch.manual_seed(50 + dist.get_rank())

    def fit(self):
        for epoch in range(self.args.epochs):
            self.net.train()
            for curve, variety in self.loader:
                self.optimizer.zero_grad()
                F.cross_entropy(self.net(curve), variety).backward()
                self.optimizer.step()
                time.sleep(self.args.pause)
            accuracy = self.test()
            if dist.get_rank() == 0:
                print(f"epoch {epoch}: accuracy {accuracy:.3f}", flush=True)
            for callback in self.callbacks:
                callback.on_epoch_end(self, epoch)
        for callback in self.callbacks:
            callback.on_fit_end(self)

    @torch.no_grad()
    def test(self):
        """Accuracy over the samples of all farms."""
        self.net.eval()
        curve, variety = self.testing.tensors
        right = (self.net.module(curve).argmax(1) == variety).sum()
        counts = torch.stack([right, torch.tensor(len(variety))]).double()
        dist.all_reduce(counts)
        return (counts[0] / counts[1]).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--samples", type=int, default=640)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--average-from", type=int, default=3)
    parser.add_argument("--pause", type=float, default=0.02)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group(backend="gloo")
    Trainer(args, [WeightAveraging(args.average_from, lr=0.02)]).fit()
    if dist.get_rank() == 0:
        print("done", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
