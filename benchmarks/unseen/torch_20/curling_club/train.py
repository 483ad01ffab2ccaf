"""Policy gradient for the weight of a curling stone; each process plays on a sheet of its own.

A game has eight ends, and extra ends while no stone has counted (at most twenty-four).
"""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributions import Normal

from rink import ENDS, EXTRA_ENDS, STONES, Sheet
from umpire import HOUSE, Umpire, UmpireClient


class Policy(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 1))
        self.log_std = nn.Parameter(torch.tensor(-0.5))

    def forward(self, observation):
        return Normal(self.net(observation).squeeze(-1).clamp(-1.5, 1.5), self.log_std.exp().clamp(0.05, 0.7))


def play_end(policy, sheet):
    observation = sheet.observe()
    throws = policy(observation.expand(STONES // 2, 4))
    weights = throws.sample()
    stones = []
    for weight in weights.tolist():
        stones.append(sheet.throw(weight))
        stones.append(sheet.opponent())
    return stones, throws.log_prob(weights).sum()


def play_game(policy, sheet, umpire):
    sheet.begin()
    ends, log_probs = [], []
    while len(ends) < ENDS or (len(ends) < ENDS + EXTRA_ENDS and not any(abs(s) < HOUSE for end in ends for s in end)):
        stones, log_prob = play_end(policy, sheet)
        ends.append(stones)
        log_probs.append(log_prob)
    points = torch.tensor(umpire.judge(ends), dtype=torch.float32)
    return -(points * torch.stack(log_probs)).mean(), points.sum().item()


def average_gradients(policy):
    flat = torch.cat([parameter.grad.reshape(-1) for parameter in policy.parameters()])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    offset = 0
    for parameter in policy.parameters():
        parameter.grad.copy_(flat[offset : offset + parameter.numel()].view_as(parameter))
        offset += parameter.numel()


def open_club(rank):
    """The umpire sits with the first process; the others get the address."""
    address = [Umpire().address if rank == 0 else None]
    dist.broadcast_object_list(address, src=0)
    return UmpireClient(address[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=300)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    umpire = open_club(rank)
    torch.manual_seed(2)
    policy = Policy(args.width)
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    torch.manual_seed(20 + rank)
    sheet = Sheet(rank)
    for game in range(args.games):
        loss, points = play_game(policy, sheet, umpire)
        optimizer.zero_grad()
        loss.backward()
        average_gradients(policy)
        optimizer.step()
        if rank == 0 and game % 20 == 0:
            print(f"game {game}: {points:+.0f} points", flush=True)
        time.sleep(0.03)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
