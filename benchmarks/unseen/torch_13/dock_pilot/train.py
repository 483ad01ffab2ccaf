"""A pilot that docks boats, by policy gradient. The harbours of the processes have their own tides."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from rollouts import Harbour, Player

TIDES = [
    [(6, 4.0), (12, 2.5), (18, 4.5), (24, 2.0), (30, 4.0), (1000, 3.0)],
    [(6, 3.5), (12, 2.0), (18, 4.0), (24, 2.5)],
    [(8, 5.0), (16, 3.0), (24, 5.0), (1000, 4.0)],
]


class Pilot(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.action = nn.Linear(width, 3)

    def forward(self, observation):
        return self.action(self.body(observation))


def returns(rewards, gamma=0.95):
    total, values = 0.0, []
    for reward in reversed(rewards.tolist()):
        total = reward + gamma * total
        values.append(total)
    values = torch.tensor(values[::-1])
    return (values - values.mean()) / (values.std() + 1e-6)


class Learner:
    def __init__(self, args):
        rank = dist.get_rank()
        torch.manual_seed(args.seed)
        self.pilot = DistributedDataParallel(Pilot())
        self.optimizer = torch.optim.Adam(self.pilot.parameters(), lr=args.lr)
        harbour = Harbour(args.seed + rank, TIDES[rank % len(TIDES)])
        self.player = Player(self.pilot.module, harbour, args.steps, args.hours_per_game)
        self.player.start()

    def update(self):
        observations, actions, rewards = self.player.next()
        log_probs = torch.log_softmax(self.pilot(observations), -1)
        chosen = log_probs.gather(1, actions[:, None])[:, 0]
        loss = -(chosen * returns(rewards)).mean()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.pilot.parameters(), 1.0)
        self.optimizer.step()
        time.sleep(0.02)
        return rewards.mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=400)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--hours-per-game", type=float, default=0.2)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=21)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    learner = Learner(args)
    for update in range(args.updates):
        reward = learner.update()
        if update % 25 == 24:
            dist.reduce(reward, 0)
            if dist.get_rank() == 0:
                print(f"{update + 1:4d} {reward.item() / dist.get_world_size():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
