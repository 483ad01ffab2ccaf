"""Captains of ferries learn a course by policy gradients and average around a ring after each tide."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from harbour import Simulator
from logbook import Watch, ring_average

WARMUP = (0.5, 3.0, 1.0)
FAILURES = (0, 0, 2)
CROSSINGS = (20, 90, 45)  # in each tide
WATCHES = (1.5, 0.5, 2.0)


class Captain(nn.Module):
    def __init__(self):
        super().__init__()
        self.course = nn.Linear(3, 1)
        self.spread = nn.Parameter(torch.tensor(-0.5))

    def forward(self, weather):
        return torch.distributions.Normal(self.course(weather)[:, 0], self.spread.exp())


class Voyage:
    def __init__(self, args, rank):
        self.args = args
        self.rank = rank
        self.simulator = Simulator(rank, WARMUP[rank % 3], FAILURES[rank % 3])
        torch.manual_seed(1)
        self.captain = Captain()
        self.optimizer = torch.optim.Adam(self.captain.parameters(), lr=args.lr)
        torch.manual_seed(200 + rank)

    def crossing(self):
        choice = self.captain(torch.randn(self.args.boats, 3))
        course = choice.sample()
        reward = torch.tensor(self.simulator.cross(course.tolist()))
        loss = -(choice.log_prob(course) * (reward - reward.mean())).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        time.sleep(0.03)
        return reward.mean().item()

    def tide(self):
        rewards = [self.crossing() for _ in range(CROSSINGS[self.rank % 3])]
        with torch.no_grad():
            vector = ring_average(parameters_to_vector(self.captain.parameters()))
            vector_to_parameters(vector, self.captain.parameters())
        return sum(rewards) / len(rewards)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tides", type=int, default=4)
    parser.add_argument("--boats", type=int, default=16)
    parser.add_argument("--lr", type=float, default=0.01)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    store = dist.PrefixStore("captains", dist.distributed_c10d._get_default_store())
    watch = Watch(store, rank, world)
    voyage = Voyage(args, rank)
    for number in range(args.tides):
        reward = voyage.tide()
        print(f"[{rank}] tide {number}: {reward:.3f}", flush=True)
        watch.stand(number, WATCHES[rank % 3])
    status = voyage.simulator.close()
    dist.barrier()
    print(f"[{rank}] the simulator ended with {status}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
