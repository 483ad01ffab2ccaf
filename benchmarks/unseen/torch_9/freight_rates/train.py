import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from offers import LANES, Broker, encode
from tolerance import Tolerance


class RateModel(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.lane = nn.Embedding(len(LANES), dim)
        self.body = nn.Sequential(nn.Linear(dim + 2, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, lanes, numbers):
        return self.body(torch.cat([self.lane(lanes), numbers], dim=1)).squeeze(1)


class Job:
    batch = 32
    epochs = 3

    def __init__(self):
        self.rank = dist.get_rank()
        torch.manual_seed(6)
        self.model = DDP(RateModel())
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.tolerance = Tolerance(KeyError, ValueError)
        self.losses = []

    def step(self, rows):
        lanes, numbers, price = encode(rows)
        time.sleep(0.03)
        loss = nn.functional.huber_loss(self.model(lanes, numbers), price)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())

    def epoch(self, number):
        self.losses.clear()
        for i, rows in enumerate(Broker(self.rank).batches(self.batch)):
            with self.tolerance:
                self.step(rows)
            if self.rank == 0 and i % 50 == 49:
                print(f"{number}.{i + 1} {sum(self.losses[-50:]) / 50:.4f}", flush=True)

    def summary(self, number):
        board = [None] * dist.get_world_size()
        dist.all_gather_object(board, {"loss": sum(self.losses) / len(self.losses), "bad": self.tolerance.seen})
        if self.rank == 0:
            for rank, entry in enumerate(board):
                print(f"epoch {number} broker {rank}: {entry}", flush=True)

    def run(self):
        for number in range(self.epochs):
            self.epoch(number)
            self.summary(number)


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Job().run()
    dist.destroy_process_group()
