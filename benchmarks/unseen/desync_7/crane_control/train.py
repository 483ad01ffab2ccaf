"""Evolution strategies for a crane: each rank tries a variant of the policy, and all learn from all rewards."""

import argparse

import torch
import torch.distributed as dist

from crane import STATE, Crane
from sharing import Board, share


class Evolution:
    def __init__(self, berths, sigma, lr):
        self.berths, self.sigma, self.lr = berths, sigma, lr
        self.policy = torch.zeros(STATE)

    def noise(self, turn, berth):
        generator = torch.Generator().manual_seed(turn * 64 + berth)
        return torch.randn(STATE, generator=generator)

    def variant(self, turn, berth):
        return self.policy + self.sigma * self.noise(turn, berth)

    def learn(self, turn, rewards):
        centred = rewards - rewards.mean()
        for berth in range(self.berths):
            self.policy += self.lr * centred[berth] * self.noise(turn, berth)


def statistics(swings, reward):
    stats = {"lifts": float(len(swings)), "reward": reward}
    if swings:
        stats["swing"] = max(swings)
    return stats


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--sigma", type=float, default=0.1)
    parser.add_argument("--lr", type=float, default=0.05)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    evolution = Evolution(dist.get_world_size(), args.sigma, args.lr)
    crane, board = Crane(rank), Board()
    for turn in range(args.turns):
        swings, reward = crane.turn(turn, evolution.variant(turn, rank))
        evolution.learn(turn, share(reward))
        board.post(statistics(swings, reward))
        if rank == 0 and turn % 60 == 0:
            print(f"turn {turn}: {board.line()}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
