"""How full the next ferry will be, learned by six harbours together."""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils import vector_to_parameters
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from smoother import Smoother


class Crossings(Dataset):
    def __init__(self, count, width):
        self.count, self.width = count, width

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(0.004)
        generator = torch.Generator().manual_seed(index)
        day = torch.randn(self.width, generator=generator)
        return day, day[:5].sum().tanh()


class Harbour:
    def __init__(self, args):
        self.args, self.rank = args, dist.get_rank()
        side_group = dist.new_group()
        torch.manual_seed(17)
        network = nn.Sequential(nn.Linear(args.width, 40), nn.ReLU(), nn.Linear(40, 1), nn.Tanh())
        self.model = DDP(network)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        data = Crossings(args.crossings, args.width)
        self.sampler = DistributedSampler(data, drop_last=True)
        self.loader = DataLoader(data, args.batch, sampler=self.sampler, drop_last=True)
        pause = 0.05 * (1 + self.rank % 3)
        self.smoother = Smoother(network, side_group, args.rounds, pause)

    def epoch(self, number):
        self.sampler.set_epoch(number)
        total = 0.0
        for day, load in self.loader:
            loss = nn.functional.mse_loss(self.model(day).squeeze(1), load)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        if self.rank == 0:
            print(f"epoch {number}: {total / len(self.loader):.4f}", flush=True)
            time.sleep(1.5)

    def train(self):
        self.smoother.start()
        for number in range(self.args.epochs):
            self.epoch(number)
        vector_to_parameters(self.smoother.finish(), self.model.module.parameters())
        dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--crossings", type=int, default=4200)
    parser.add_argument("--width", type=int, default=20)
    parser.add_argument("--batch", type=int, default=7)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=70)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Harbour(args).train()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
