"""A driver for rickshaws that learns from rides in several towns (policy gradient)."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributions import Categorical

from city import StaleMap, Town
from exchange import Exchange


class Driver(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 4))

    def forward(self, view):
        return Categorical(logits=self.net(torch.tensor(view)))


class School:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        torch.manual_seed(0)
        self.driver = Driver()
        self.optimizer = torch.optim.Adam(self.driver.parameters(), lr=args.lr)
        self.exchange = Exchange(self.driver.parameters())
        self.town = Town(self.rank, works_after=610 if self.rank == 2 else 0)
        self.baseline = 0.0
        torch.manual_seed(10 + self.rank)

    def ride(self):
        view, log_probs, reward = self.town.new_ride(), [], 0.0
        for _ in range(self.args.longest):
            choice = self.driver(view)
            direction = choice.sample()
            log_probs.append(choice.log_prob(direction))
            view, gain, arrived = self.town.drive(direction.item())
            reward += gain
            if arrived:
                break
        return torch.stack(log_probs).sum(), reward

    def lesson(self):
        loss, total = 0.0, 0.0
        for _ in range(self.args.rides):
            log_prob, reward = self.ride()
            loss = loss - (reward - self.baseline) * log_prob
            total += reward
        self.optimizer.zero_grad()
        (loss / self.args.rides).backward()
        self.baseline = 0.9 * self.baseline + 0.1 * total / self.args.rides
        return total / self.args.rides

    def complete_lesson(self):
        while True:
            try:
                return self.lesson()
            except StaleMap as stale:
                print(f"driver {self.rank}: {stale}, reading the map and beginning the lesson again", flush=True)
                self.town.read_map()
                self.exchange.open()

    def run(self):
        for number in range(self.args.lessons):
            reward = self.complete_lesson()
            self.exchange.gradients()
            self.optimizer.step()
            if number % 20 == 0:
                reward = self.exchange.mean(reward)
                if self.rank == 0:
                    print(f"lesson {number} reward {reward:.2f}", flush=True)
            time.sleep(0.01)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lessons", type=int, default=400)
    parser.add_argument("--rides", type=int, default=4)
    parser.add_argument("--longest", type=int, default=10)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    School(args).run()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
