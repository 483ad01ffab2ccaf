"""Teaches an agent to fly a kite: an actor-critic, one site with its own wind per process."""
import argparse
import time

import torch
import torch.distributed as dist

from agents import Averaged, Policy, Returns
from wind import SITES, Kite


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--horizon", type=int, default=96)
    parser.add_argument("--gamma", type=float, default=0.95)
    parser.add_argument("--entropy", type=float, default=0.01)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--room", type=int, default=8, help="returns between two merges of their statistics")
    return parser.parse_args()


class Learner:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        everybody = list(range(dist.get_world_size()))
        learners, statistics = dist.new_group(everybody), dist.new_group(everybody)
        torch.manual_seed(0)
        self.policy = Policy(args.width)
        optimizer = torch.optim.Adam(self.policy.parameters(), lr=args.lr)
        self.averaged = Averaged(self.policy, optimizer, learners)
        self.returns = Returns(statistics, args.room)
        self.kite = Kite(SITES[self.rank % len(SITES)], seed=60 + self.rank)
        self.state = self.kite.reset()
        self.score = 0.0
        torch.manual_seed(100 + self.rank)

    @torch.no_grad()
    def collect(self, number):
        states, actions, rewards, ends = [], [], [], []
        for _ in range(self.args.horizon):
            choice, _ = self.policy(self.state)
            action = choice.sample()
            states.append(self.state)
            actions.append(action)
            self.state, reward, done = self.kite.step(action.item(), number)
            rewards.append(reward)
            ends.append(done)
            self.score += reward
            if done:
                self.returns.observe(self.score)
                self.score = 0.0
                self.state = self.kite.reset()
        return torch.stack(states), torch.stack(actions), rewards, ends

    def targets(self, rewards, ends):
        running, result = 0.0, []
        for reward, end in zip(reversed(rewards), reversed(ends)):
            running = reward + self.args.gamma * (0.0 if end else running)
            result.append(running)
        return torch.tensor(result[::-1])

    def learn(self, states, actions, rewards, ends):
        target = self.returns.scale(self.targets(rewards, ends)).float()
        choice, value = self.policy(states)
        advantage = target - value.detach()
        loss = -(advantage * choice.log_prob(actions)).mean() + 0.5 * (target - value).square().mean()
        loss = loss - self.args.entropy * choice.entropy().mean()
        self.policy.zero_grad()
        loss.backward()
        self.averaged.step()

    def run(self):
        for number in range(self.args.rounds):
            self.returns.begin_round()
            self.learn(*self.collect(number))
            if not self.returns.merged:
                self.returns.merge()
            if self.rank == 0 and number % 5 == 0:
                print(f"round {number}: mean return {self.returns.total / self.returns.count:.2f}", flush=True)
            time.sleep(0.05)


def main():
    args = parse()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Learner(args).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
