"""Q-learning for a yard crane under DDP; each process has a yard of its own."""
import argparse
import copy
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from replay import Move, Replay, start_rating
from yard import Yard

# Steps with gusts above what the crane is certified for, from the yards' anemometers.
GUSTS = {0: range(0), 1: range(500, 1000), 2: range(0)}


class Agent:
    def __init__(self, args):
        self.args = args
        rank = dist.get_rank()
        self.yard = Yard(args.stacks, seed=rank, frozen=GUSTS.get(rank, range(0)))
        self.replay = Replay(args.capacity, args.horizon, seed=rank)
        torch.manual_seed(0)
        inputs = args.stacks + 3
        network = nn.Sequential(nn.Linear(inputs, args.width), nn.ReLU(), nn.Linear(args.width, 3))
        self.q = DDP(network)
        self.target = copy.deepcopy(network)
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=args.lr)
        self.random = random.Random(10 + rank)
        self.state = self.yard.reset()
        self.rewards = 0.0

    @torch.no_grad()
    def act(self, updates):
        if self.random.random() < max(0.6 * 0.99**updates, 0.25):
            return self.random.randrange(3)
        return int(self.q.module(self.state).argmax())

    def play(self, steps, updates):
        for _ in range(steps):
            action = self.act(updates)
            after, reward, last = self.yard.step(action)
            self.replay.add(Move(self.state, action, reward, after, last))
            self.rewards += reward
            self.state = self.yard.reset() if last else after

    def batch(self, number):
        if number % 4 == 3:
            batch = self.replay.recent(self.args.batch)
            if batch is not None:
                return batch
        return self.replay.uniform(self.args.batch)

    def update(self, number):
        state, action, reward, after, last = self.batch(number)
        with torch.no_grad():
            goal = reward + self.args.gamma * (1 - last) * self.target(after).max(1).values
        value = self.q(state).gather(1, action[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(value, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if number % 20 == 0:
            self.target.load_state_dict(self.q.module.state_dict())

    def run(self):
        self.play(self.args.first, 0)
        start_rating(self.replay, every=0.5)
        for number in range(self.args.updates):
            self.play(self.args.steps, number)
            self.update(number)
            if number % 25 == 24:
                rewards = torch.tensor(self.rewards)
                dist.all_reduce(rewards)
                self.rewards = 0.0
                if dist.get_rank() == 0:
                    print(f"update {number + 1}: rewards {rewards.item():.1f}, {self.replay.ratings}", flush=True)
            time.sleep(0.02)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=400)
    parser.add_argument("--first", type=int, default=400)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--stacks", type=int, default=4)
    parser.add_argument("--capacity", type=int, default=2000)
    parser.add_argument("--horizon", type=int, default=400)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--gamma", type=float, default=0.9)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Agent(args).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
