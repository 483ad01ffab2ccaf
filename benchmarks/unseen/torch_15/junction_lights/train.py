"""Traffic lights that learn with their neighbours: every process is a junction with two approaches."""
import argparse
import logging
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.distributions import Categorical

from roads import RoadNetwork

logger = logging.getLogger("lights")


class Junction:
    """Queues at two approaches; the green one discharges up to `capacity` vehicles in a step."""

    FLOWS = [(1.6, 1.2), (1.3, 1.5), (1.4, 1.4)]
    EVENING = {0: (1.6, 6.0)}

    def __init__(self, rank, evening, capacity=14):
        self.rank = rank
        self.evening = evening
        self.capacity = capacity
        self.random = np.random.default_rng(50 + rank)
        self.queues = np.zeros(2, dtype=int)
        self.clock = 0

    def observe(self):
        return torch.tensor(self.queues / 20.0, dtype=torch.float32)

    def flows(self):
        usual = self.FLOWS[self.rank % len(self.FLOWS)]
        return self.EVENING.get(self.rank, usual) if self.clock >= self.evening else usual

    def step(self, green):
        self.queues += self.random.poisson(self.flows())
        passed = int(min(self.queues[green], self.capacity))
        self.queues[green] -= passed
        self.clock += 1
        return passed, -float(self.queues.sum()) / 20.0


class Controller(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 2))

    def forward(self, queues):
        return Categorical(logits=self.net(queues))


def learn(controller, optimizer, log_probs, rewards, discount=0.9):
    returns, running = [], 0.0
    for reward in reversed(rewards):
        running = reward + discount * running
        returns.append(running)
    returns = torch.tensor(returns[::-1])
    returns = (returns - returns.mean()) / (returns.std() + 1e-3)
    loss = -(torch.stack(log_probs) * returns).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--mix-every", type=int, default=20)
    parser.add_argument("--evening", type=int, default=160)
    parser.add_argument("--crowded", type=int, default=70)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(3)
    controller = Controller()
    optimizer = torch.optim.Adam(controller.parameters(), lr=5e-3)
    network = RoadNetwork(args.crowded)
    junction = Junction(dist.get_rank(), args.evening)
    log_probs, rewards = [], []
    for step in range(1, args.steps + 1):
        policy = controller(junction.observe())
        green = policy.sample()
        passed, reward = junction.step(int(green))
        network.send(int(green), passed)
        log_probs.append(policy.log_prob(green))
        rewards.append(reward)
        time.sleep(0.01)
        if step % args.mix_every == 0:
            learn(controller, optimizer, log_probs, rewards)
            network.mix(controller)
            if dist.get_rank() == 0:
                logger.info("step %d reward %.2f", step, sum(rewards) / len(rewards))
            log_probs, rewards = [], []
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
