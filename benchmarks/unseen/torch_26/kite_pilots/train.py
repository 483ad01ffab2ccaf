"""One learner and its pilots: each round every pilot flies once, the learner updates the policy and hands it out."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn

from kite import Beach
from wire import receive_episode, send_episode, spread

LEARNER = 0


def make_policy():
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 2))


class Learner:
    def __init__(self, policy, lr):
        self.policy = policy
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=lr)
        self.baseline = 0.0

    def update(self, episodes):
        rows = torch.cat(episodes)
        state, action, gain = rows[:, :4], rows[:, 4].long(), rows[:, 5]
        log_prob = self.policy(state).log_softmax(1).gather(1, action[:, None])[:, 0]
        loss = -((gain - self.baseline) * log_prob).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.baseline = 0.9 * self.baseline + 0.1 * gain.mean().item()

    def run(self, rounds, pilots):
        for number in range(rounds):
            self.update([receive_episode(pilot) for pilot in pilots])
            spread(self.policy, LEARNER)
            if number % 10 == 0:
                print(f"round {number}: mean return {self.baseline:.3f}", flush=True)


class Pilot:
    def __init__(self, policy, rank):
        self.policy = policy
        self.beach = Beach(rank)

    @torch.no_grad()
    def run(self, rounds):
        for _ in range(rounds):
            flight = self.beach.fly(self.policy)
            time.sleep(0.05)
            send_episode(flight, LEARNER)
            spread(self.policy, LEARNER)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    policy = make_policy()
    if rank == LEARNER:
        Learner(policy, args.lr).run(args.rounds, range(1, world))
    else:
        Pilot(policy, rank).run(args.rounds)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
