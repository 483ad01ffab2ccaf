"""Delays of trams from the state of the network; the weights are averaged and kept beside the training."""

import argparse
import os
import pathlib
import tempfile
import threading
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils import parameters_to_vector
from torch.utils.data import DataLoader, Dataset, DistributedSampler

STOPS = 28


class Journeys(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(0.002)
        generator = torch.Generator().manual_seed(index)
        state = torch.rand(STOPS, generator=generator)
        return state, state[:7].sum() - state[7:14].mean()


class Keeper:
    """The first process keeps the averaged weights, and checks that the earlier ones can still be read."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.kept = []

    def keep(self, vector):
        path = self.folder / f"weights_{len(self.kept):04d}.pt"
        torch.save(vector, path)
        self.kept.append(path)
        for old in self.kept:
            torch.load(old)
            time.sleep(0.02)


class Averager(threading.Thread):
    """Takes out what the processes' weights have drifted apart, every now and then."""

    def __init__(self, model, keeper, pause):
        super().__init__(name="averager", daemon=True)
        self.model, self.keeper, self.pause = model, keeper, pause
        self.finished = threading.Event()

    def average(self):
        vector = parameters_to_vector(self.model.parameters()).detach().clone()
        dist.all_reduce(vector)
        vector /= dist.get_world_size()
        offset = 0
        for p in self.model.parameters():
            p.data.copy_(vector[offset : offset + p.numel()].view_as(p))
            offset += p.numel()
        return vector

    def run(self):
        while not self.finished.wait(self.pause):
            vector = self.average()
            if self.keeper is not None:
                self.keeper.keep(vector)


def train(args, folder):
    torch.manual_seed(2)
    model = DDP(nn.Sequential(nn.Linear(STOPS, 48), nn.ReLU(), nn.Linear(48, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    data = Journeys(args.journeys)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, args.batch, sampler=sampler)
    keeper = Keeper(folder) if dist.get_rank() == 0 else None
    averager = Averager(model.module, keeper, args.pause)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        if epoch == 1:
            averager.start()
        total = 0.0
        for state, delay in loader:
            loss = nn.functional.smooth_l1_loss(model(state).squeeze(1), delay)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: {total / len(loader):.4f}", flush=True)
    averager.finished.set()
    averager.join()
    dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--journeys", type=int, default=4000)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--pause", type=float, default=0.1)
    parser.add_argument("--lr", type=float, default=0.005)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with tempfile.TemporaryDirectory(prefix=f"trams_{os.getpid()}_") as folder:
        train(args, folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
