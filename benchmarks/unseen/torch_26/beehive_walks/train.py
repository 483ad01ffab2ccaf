"""Where to look for nectar: a policy for the bees of several meadows, one meadow per process (REINFORCE)."""
import argparse
import copy
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from meadow import Meadow
from pool import FlightPool


def build():
    torch.manual_seed(11)
    return nn.Sequential(nn.Linear(Meadow.beds, 32), nn.ReLU(), nn.Linear(32, Meadow.beds))


class Colony:
    def __init__(self, args):
        self.args = args
        self.policy = DDP(build())
        self.optimizer = torch.optim.RMSprop(self.policy.parameters(), lr=args.lr)
        self.flights = FlightPool(Meadow(dist.get_rank()), args.threads)
        self.expected = 0.4

    def scouts(self):
        """The bees fly with the weights of the morning."""
        return copy.deepcopy(self.policy.module)

    def learn(self, flights):
        scent = torch.stack([flight[0] for flight in flights])
        beds = torch.stack([flight[1] for flight in flights])
        nectar = torch.stack([flight[2] for flight in flights])
        log_prob = self.policy(scent).log_softmax(1).gather(1, beds).sum(1)
        loss = -((nectar - self.expected) * log_prob).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.expected = 0.95 * self.expected + 0.05 * nectar.mean().item()

    def season(self):
        for day in range(self.args.days):
            flights = self.flights.collect(self.scouts(), day, self.args.bees)
            self.learn(flights)
            time.sleep(0.03)
            if day % 10 == 0 and dist.get_rank() == 0:
                print(f"day {day}: nectar {self.expected:.3f}", flush=True)
        self.flights.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=80)
    parser.add_argument("--bees", type=int, default=8)
    parser.add_argument("--threads", type=int, default=3)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Colony(args).season()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
