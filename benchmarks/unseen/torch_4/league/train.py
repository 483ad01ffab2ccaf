#!/usr/bin/env python
"""Self-play league on a toy board game.

Main agents learn together; every ``--season`` updates the league is
reshuffled and exploiters share their own averaged policy.
"""
import argparse
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


class Policy(nn.Module):
    def __init__(self, cells=9, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(cells, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.moves = nn.Linear(hidden, cells)
        self.value = nn.Linear(hidden, 1)

    def forward(self, board):
        h = self.body(board)
        return self.moves(h), torch.tanh(self.value(h)).squeeze(-1)


class League:
    """Who plays for which side, and how the sides share their weights."""

    def __init__(self, exploiters):
        self.exploiters = list(exploiters)
        self.rank = dist.get_rank()
        self.channel = None

    def reshuffle(self):
        if self.rank in self.exploiters:
            self.channel = dist.new_group(self.exploiters)

    def share(self, policy):
        if self.channel is None:
            return
        for p in policy.parameters():
            dist.all_reduce(p.data, group=self.channel)
            p.data.div_(len(self.exploiters))


def average_gradients(policy):
    flat = torch.cat([p.grad.view(-1) for p in policy.parameters()])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    offset = 0
    for p in policy.parameters():
        p.grad.copy_(flat[offset:offset + p.numel()].view_as(p))
        offset += p.numel()


def play(policy, games, generator):
    boards = torch.randint(-1, 2, (games, 9), generator=generator).float()
    logits, value = policy(boards)
    moves = torch.distributions.Categorical(logits=logits).sample()
    reward = (boards.gather(1, moves.unsqueeze(1)).squeeze(1) == 0).float() * 2 - 1
    advantage = reward - value.detach()
    pg = -(advantage * F.log_softmax(logits, 1).gather(1, moves.unsqueeze(1)).squeeze(1)).mean()
    return pg + 0.5 * F.mse_loss(value, reward), reward.mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=70)
    ap.add_argument("--season", type=int, default=22)
    ap.add_argument("--games", type=int, default=12)
    opt = ap.parse_args()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(11)
    policy = Policy()
    generator = torch.Generator().manual_seed(rank)
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-3)
    league = League(exploiters=range(1, dist.get_world_size()))

    for update in range(1, opt.updates + 1):
        loss, reward = play(policy, opt.games, generator)
        optimizer.zero_grad()
        loss.backward()
        average_gradients(policy)
        optimizer.step()
        time.sleep(0.02)
        if update % opt.season == 0:
            league.reshuffle()
            league.share(policy)
            if rank == 0:
                print(f"update {update} reward {reward:.2f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
