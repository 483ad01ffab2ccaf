"""Policy gradient in mazes; the worlds of the processes differ, their gradients are averaged."""
import argparse
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

from actors import Actors

# portals at the start, and after how many updates the world gets another one (0: never)
WORLDS = {"garden": (0, 0), "castle": (4, 0), "caves": (2, 25)}


def returns_of(rewards, discount):
    out, running = [], 0.0
    for reward in reversed(rewards):
        running = reward + discount * running
        out.append(running)
    return out[::-1]


class Learner:
    def __init__(self, lr, discount):
        self.policy = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 4))
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.discount = discount

    def update(self, episodes):
        views = torch.from_numpy(np.concatenate([np.stack(e[0]) for e in episodes]))
        moves = torch.tensor([m for e in episodes for m in e[1]])
        gains = torch.tensor([g for e in episodes for g in returns_of(e[2], self.discount)])
        gains = (gains - gains.mean()) / (gains.std() + 1e-4)
        log_probs = torch.log_softmax(self.policy(views), 1).gather(1, moves[:, None])[:, 0]
        self.optimizer.zero_grad()
        (-(log_probs * gains).mean()).backward()
        for p in self.policy.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        self.optimizer.step()
        return sum(sum(e[2]) for e in episodes) / len(episodes)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=250)
    parser.add_argument("--episodes", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    portals, growth = list(WORLDS.values())[rank % len(WORLDS)]
    torch.manual_seed(9)
    learner = Learner(args.lr, discount=0.95)
    actors = Actors(learner.policy)
    for update in range(args.updates):
        seeds = [1000 * rank + 7 * (update * args.episodes + i) for i in range(args.episodes)]
        more = update // growth if growth else 0
        episodes = actors.collect(seeds, portals + more)
        score = learner.update(episodes)
        time.sleep(0.02)
        if update % 25 == 0:
            print(f"rank {rank} update {update} score {score:.3f}", flush=True)
    actors.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
